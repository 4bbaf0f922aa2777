"""Files on a board: the user's saved, a client's written, and both proven by digests that the board takes."""

import ast
import errno
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from portbench.boards.console import RESULT_PREFIX
from portbench.boards.deploy import check_digests, differing
from portbench.boards.repl import Repl
from portbench.boards.timing import Deadline
from portbench.boards.usb.link import Link, run_program
from portbench.boards.usb.volume import sync_folder, wait_volume, write_file
from portbench.errors import BoardError, BoardUnavailable, LibraryMissing

LIST_FILES = """
import os
def portbench_walk(folder):
    for name in os.listdir(folder or '/'):
        path = folder + '/' + name
        if os.stat(path)[0] & 0x4000:
            portbench_walk(path)
        else:
            print(repr(path[1:]))
portbench_walk('')
"""
_RESULT_LINE = f'print("{RESULT_PREFIX.strip()}"'.encode()
SYSTEM_FILES = frozenset({"boot_out.txt", "INFO_UF2.TXT", "INDEX.HTM"})
"""Written by the runtime or the boot loader, not by the user."""


def list_files(repl: Repl, deadline: Deadline) -> list[str]:
    """Paths of all files in the board's file system, relative to its root."""
    listing = repl.execute(LIST_FILES, deadline, f"{repl.name} to list its files")
    return [str(ast.literal_eval(line)) for line in listing.splitlines() if line.strip()]


def save_files(repl: Repl, folder: Path, deadline: Deadline) -> Path | None:
    """Copy the board's files to a new folder below `folder` and return it; None where there is nothing to save.

    Files that portbench put there are left out.
    """
    contents = {}
    for path in list_files(repl, deadline):
        if path.split("/")[0] in SYSTEM_FILES or path.startswith("."):
            continue
        content = repl.read_file(path, deadline)
        if not _is_ours(path, content):
            contents[path] = content
    if not contents:
        return None
    target = folder / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    for path, content in contents.items():
        copy = _below(target, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    return target


def _is_ours(path: str, content: bytes) -> bool:
    """True if an earlier run's deployment left this file: its settings, or a script that prints a result line."""
    return path == "portbench_config.json" or (path in ("main.py", "code.py") and _RESULT_LINE in content)


def _below(folder: Path, path: str) -> Path:
    """Keep any name from the board below the folder."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        raise BoardError(f"the board has a file with the name {path!r}, which cannot be saved")
    return folder.joinpath(*parts)


_SCRIPT = "commands"


def deploy_rshell(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Close `repl`, whose port rshell needs, and copy all files. Raises BoardError and LibraryMissing."""
    if "://" in repl.wire.port:
        raise BoardUnavailable(f"{repl.wire.port}: rshell knows no network ports; use --deploy mpremote")
    LibraryMissing.unless_found("rshell", "rshell", "--deploy rshell")
    repl.close()
    copy_with_rshell(repl.wire.port, repl.name, files, deadline)


def copy_with_rshell(port: str, name: str, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Copy all files through the free `port`. Raises BoardError."""
    with tempfile.TemporaryDirectory(prefix="portbench-rshell-") as folder:
        script = Path(folder, _SCRIPT)
        script.write_text("\n".join(_rshell_commands(Path(folder), files)) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "rshell.main", "--quiet", "--nocolor", "-p", port, "-f", str(script)]
        done = run_program(command, deadline, f"rshell to copy {len(files)} files to {name}")
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    unable = [line for line in said if "Unable to" in line and "Unable to create" not in line]
    if done.returncode or unable:
        last = (unable or said or ["no message"])[0]
        raise BoardError(f"{name}: rshell (status {done.returncode}): {last}")


def _rshell_commands(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """The commands of the script. rshell calls the board /pyboard.

    Its mkdir fails if a folder exists, which does no harm. Its exit status is always 0; its output tells of errors.
    """
    commands = []
    made = set()
    for number, (path, content) in enumerate(files.items()):
        local = folder / f"{number}"
        local.write_bytes(content)
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            if parent not in made:
                made.add(parent)
                commands.append(f"mkdir /pyboard/{parent}")
        commands.append(f"cp {local} /pyboard/{path}")
    return commands


def deploy_circuitpython(
    link: Link,
    repl: Repl,
    files: Mapping[str, bytes],
    deadline: Deadline,
    settle: Callable[[Deadline], None] | None = None,
) -> None:
    """Write what differs to CircuitPython's drive, one file at a time, and check it on the board. Raises BoardError.

    `settle` returns when the drive has the written data, where the system's own flush is not enough.

    The prompt is held throughout: CircuitPython does not reload for changes on the drive while its REPL is open
    (`supervisor`, auto-reload is suspended in the REPL), so nothing runs half-copied.
    """
    repl.enter(deadline)
    volume = wait_volume(link, "circuitpython", deadline)
    # The board's view decides: the PC's may come from its cache, and drives were found corrupt after a change of
    # runtime.
    for path in differing(repl, files, deadline):
        target = volume / path
        try:
            for folder in reversed(PurePosixPath(path).parents[:-1]):
                (volume / folder).mkdir(exist_ok=True)
            write_file(target, files[path], deadline, f"{link.name} to take {path}")
            sync_folder(target.parent)
        except OSError as error:
            raise BoardError(f"{link.name}: {_reason(error, volume, path)}") from error
        if settle is not None:
            settle(deadline)
    check_digests(repl, files, deadline)


def _reason(error: OSError, volume: Path, path: str) -> str:
    if error.errno == errno.EROFS:
        return f"{volume} is read-only: its file system is damaged or boot.py took it; reset the board"
    if error.errno == errno.ENOSPC:
        return f"{volume} is full at {path}; remove files from it"
    return f"{path} cannot be written to {volume}: {error.strerror or error}"
