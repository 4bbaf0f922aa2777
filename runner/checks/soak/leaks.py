"""Leaks of a run: processes, ports, sockets, threads, locks, temporary files."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import psutil

from portbench.boards.timing import host_time

_GRACE_S = 2.0
_LOOK_S = 0.02
_other_threads: set[int | None] = set()
_other_ports: set[int] = set()
_other_terminals: set[tuple[int, str]] = set()
_other_processes: set[psutil.Process] = set()


def pass_over_others() -> None:
    """Do not report threads, ports, terminals and processes that this process has now.

    Examples are gRPC's threads, which outlive their use, the process that multiprocessing keeps for its resources, and
    pytest's copies of the standard streams, which may be a terminal.
    """
    _other_threads.clear()
    _other_threads.update(thread.ident for thread in threading.enumerate())
    _other_ports.clear()
    _other_ports.update(_listening_ports())
    _other_terminals.clear()
    _other_terminals.update(_terminals())
    _other_processes.clear()
    _other_processes.update(psutil.Process().children(recursive=True))


def _listening_ports() -> list[int]:
    connections = psutil.Process().net_connections(kind="inet")
    return [connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN]


def open_terminals() -> list[str]:
    """Serial ports (pseudo-terminals) that this process has open, without its standard streams and earlier ones."""
    return [target for fd, target in _terminals() if fd > 2 and (fd, target) not in _other_terminals]


def _terminals() -> list[tuple[int, str]]:
    found = []
    for fd in Path("/proc/self/fd").iterdir():
        try:
            target = str(fd.readlink())
        except OSError:
            continue
        if target.startswith(("/dev/pts/", "/dev/ptmx", "/dev/tty")):
            found.append((int(fd.name), target))
    return found


def left_behind(folders: list[Path], known_pids: set[int]) -> list[str]:
    """One line for each thing that is still there after a short grace; empty where all is tidy.

    `folders` have to be empty or gone. `known_pids`: child processes that are still in use.
    """
    end = host_time() + _GRACE_S
    while True:
        gc.collect()  # what Ctrl-C interrupted ends with its object
        found = _left_behind(folders, known_pids)
        if not found or host_time() > end:
            return found
        time.sleep(_LOOK_S)


def _left_behind(folders: list[Path], known_pids: set[int]) -> list[str]:
    process = psutil.Process()
    found = [f"port {name}" for name in open_terminals()]
    for child in process.children(recursive=True):
        if child.pid in known_pids or child in _other_processes:
            continue
        try:
            found.append(f"process {child.pid} ({child.status()}): {' '.join(child.cmdline())[:120]}")
        except psutil.NoSuchProcess:
            continue
    found += [f"listening port {port}" for port in _listening_ports() if port not in _other_ports]
    found += [
        f"thread {thread.name}"
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and thread.ident not in _other_threads
    ]
    found += [f"file {path}" for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*"))]
    return found


def board_processes(root: Path) -> list[int]:
    """Emulated boards, of whatever parent, whose running folder is below `root`."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        if "portbench.boards.desk" not in (process.info["cmdline"] or []):
            continue
        try:
            folder = process.environ().get("PORTBENCH_RUNTIME_DIR", "")
        except (psutil.Error, OSError):
            continue
        if os.path.commonpath([root, folder or "/"]) == str(root):
            found.append(process.info["pid"])
    return found
