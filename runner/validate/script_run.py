"""A published script, unchanged: saved to a CircuitPython board's drive while the board runs, or typed at MicroPython's
raw prompt, all on simulated time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.runner.speed.repl import ReplMachine
from portbench.runner.validate.raw_prompt import RawPrompt

_LIMIT_S: Final = 3600.0
_STEP_US: Final = 100_000.0
_FIRST_START_US: Final = 10_000_000.0
"""CircuitPython makes its file system and runs the code.py that it comes with: 4.2 s."""
_ROW: Final = re.compile(r"^\|(?P<name>[^|]+)\|(?P<value>[^|]*)\|$")
_NONE: Final = "None"


def measure(
    entry: FirmwareEntry, image: Path, board: BoardDefinition, content: bytes, names: Collection[str]
) -> dict[str, list[float]]:
    """The rows `|name |value |` of the table that the script prints at its end. Raises BoardError."""
    deadline = Deadline(_LIMIT_S, f"{entry.id}: the script's table")
    if entry.family is Family.CIRCUITPYTHON:
        text = _saved(image, board, content, names, deadline)
    else:
        text = RawPrompt(image, board, deadline).execute(content)
    return values(text.splitlines(), names, entry.id)


def values(lines: Iterable[str], names: Collection[str], what: str) -> dict[str, list[float]]:
    """Of the table's rows. A test that the board has no memory for says None, and is left out. Raises BoardError."""
    found: dict[str, list[float]] = {}
    for line in lines:
        match = _ROW.match(line.strip())
        if match is None or (name := match["name"].strip()) not in names:
            continue
        value = match["value"].strip()
        try:
            found[name] = [] if value == _NONE else [float(value)]
        except ValueError:
            raise BoardError(f"{what}: {name} is {value!r}, which is no number") from None
    if missing := sorted(set(names) - set(found)):
        raise BoardError(f"{what}: the script ended without {', '.join(missing)}")
    return {name: each for name, each in found.items() if each}


def _saved(image: Path, board: BoardDefinition, content: bytes, names: Collection[str], deadline: Deadline) -> str:
    """What the board prints from when its code.py is written until the table is whole."""
    machine = ReplMachine(image, board).machine
    while machine.time_us < _FIRST_START_US:
        machine.run(_FIRST_START_US)
        machine.usb_events()
        machine.console_read()
    machine.volume_apply([("write", "code.py", content)])
    said = b""
    last = list(names)[-1]
    while not any(_ROW.match(line) and last in line for line in said[-400:].decode(errors="replace").splitlines()):
        deadline.check(f"the row {last!r}; the board printed {said[-60:]!r}")
        machine.run(machine.time_us + _STEP_US)
        machine.usb_events()
        said += machine.console_read()
    return said.decode(errors="replace")
