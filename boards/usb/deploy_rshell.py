"""Files to MicroPython with rshell, as its users do: one run of the program for all files."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from portbench.boards.timing import Deadline
from portbench.boards.usb.repl import Repl
from portbench.errors import BoardError, BoardUnavailable

_SCRIPT = "commands"


def deploy(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Close `repl`, whose port rshell needs, and copy all files. Raises BoardError."""
    if "://" in repl.port:
        raise BoardUnavailable(f"{repl.port}: rshell knows no network ports; use --deploy mpremote")
    repl.close()
    copy(repl.port, repl.name, files, deadline)


def copy(port: str, name: str, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Copy all files through the free `port`. Raises BoardError."""
    with tempfile.TemporaryDirectory(prefix="portbench-rshell-") as folder:
        script = Path(folder, _SCRIPT)
        script.write_text("\n".join(_commands(Path(folder), files)) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "rshell.main", "--quiet", "--nocolor", "-p", port, "-f", str(script)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=deadline.remaining, check=False
            )
        except subprocess.TimeoutExpired:
            raise deadline.exceeded(f"rshell to copy {len(files)} files to {name}") from None
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    unable = [line for line in said if "Unable to" in line and "Unable to create" not in line]
    if done.returncode or unable:
        last = (unable or said or ["no message"])[0]
        raise BoardError(f"{name}: rshell (status {done.returncode}): {last}")


def _commands(folder: Path, files: Mapping[str, bytes]) -> list[str]:
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
