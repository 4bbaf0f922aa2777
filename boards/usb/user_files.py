"""The user's own files: copied to this PC before anything of theirs could be lost, and put back when asked for."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path

from portbench.boards.console import RESULT_PREFIX
from portbench.boards.timing import Deadline
from portbench.boards.usb.repl import Repl
from portbench.errors import BoardError

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


def save(repl: Repl, folder: Path, deadline: Deadline) -> Path | None:
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
    """Whether an earlier run's deployment left this file: its settings, or a script that prints a result line."""
    return path == "portbench_config.json" or (path in ("main.py", "code.py") and _RESULT_LINE in content)


def _below(folder: Path, path: str) -> Path:
    """Keep any name from the board below the folder."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        raise BoardError(f"the board has a file with the name {path!r}, which cannot be saved")
    return folder.joinpath(*parts)
