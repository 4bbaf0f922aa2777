"""Leaks of a run: processes, ports, sockets, threads, locks, temporary files; and folders to look in."""

import contextlib
import gc
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import psutil

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.timing import host_time
from portbench.boards.usb.link import LOCK_DIR_VARIABLE

_GRACE_S: Final = 2.0
_LOOK_S: Final = 0.02


class Leaks:
    """Things that this process has, and did not have when this was made.

    Earlier ones are gRPC's threads, which outlive their use, the process that multiprocessing keeps for its resources,
    and pytest's copies of the standard streams, which may be a terminal.
    """

    def __init__(self) -> None:
        self._before = {each for each, _ in _open_now()}

    def terminals(self) -> list[str]:
        """Serial ports (pseudo-terminals) that are open, without the standard streams."""
        return [line for each, line in _terminals() if each not in self._before]

    def found(self, folders: Sequence[Path], known_pids: Collection[int] = ()) -> list[str]:
        """One line for each thing that is still there after a short grace; empty where all is tidy.

        `folders` have to be empty or gone. `known_pids`: child processes that are still in use.
        """
        known = {psutil.Process(pid) for pid in known_pids if psutil.pid_exists(pid)}
        end_s = host_time() + _GRACE_S
        while True:
            gc.collect()  # what Ctrl-C interrupted ends with its object
            found = [line for each, line in _open_now() if each not in self._before | known]
            found += [f"file {path}" for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*"))]
            if not found or host_time() > end_s:
                return found
            time.sleep(_LOOK_S)


def _open_now() -> Iterator[tuple[object, str]]:
    """Everything that a process can leave open, each with a line for people."""
    process = psutil.Process()
    yield from _terminals()
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            yield child, f"process {child.pid} ({child.status()}): {' '.join(child.cmdline())[:120]}"
    for connection in process.net_connections(kind="inet"):
        if connection.status == psutil.CONN_LISTEN:
            yield ("listening", connection.laddr.port), f"listening port {connection.laddr.port}"
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            yield ("thread", thread.ident), f"thread {thread.name}"


def _terminals() -> Iterator[tuple[tuple[int, str], str]]:
    for fd in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(fd.readlink())
            if int(fd.name) > 2 and target.startswith(("/dev/pts/", "/dev/ptmx", "/dev/tty")):
                yield (int(fd.name), target), f"port {target}"


def own_folders(root: Path) -> dict[str, str]:
    """The environment of a process whose boards (`b`), locks, temporary files (`tmp`) and all else are below `root`."""
    names = {RUNTIME_DIR_VARIABLE: "b", LOCK_DIR_VARIABLE: "locks", "TMPDIR": "tmp"}
    names |= {f"XDG_{name}_HOME": name.lower() for name in ("DATA", "CACHE", "STATE")}
    for name in names.values():
        (root / name).mkdir()
    return {variable: str(root / name) for variable, name in names.items()}


def processes_of(root: Path) -> list[psutil.Process]:
    """Processes, of whatever parent, that were started with the folders of `root`."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            boards = process.environ().get(RUNTIME_DIR_VARIABLE)
            if boards == str(root / "b") and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
