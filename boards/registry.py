"""Where running emulated boards make themselves known: one folder each, with `board.json` in it.

What the operating system's list of USB devices is to real boards, this is to emulated ones.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

RUNTIME_DIR_VARIABLE = "PORTBENCH_RUNTIME_DIR"
STATE_FILE = "board.json"
CONTROL_SOCKET = "control"


def runtime_dir() -> Path:
    """Folder of the running boards' folders: `PORTBENCH_RUNTIME_DIR`, else this user's below the temporary folder."""
    named = os.environ.get(RUNTIME_DIR_VARIABLE)
    if named:
        return Path(named)
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(tempfile.gettempdir()) / f"portbench-{user}"


@dataclass(frozen=True)
class EmulatedState:
    """What a PC would see of the board now.

    `port`: the serial port's path; `volume`: the mounted drive's folder; both None while there is none. `generation`
    grows with each USB enumeration. `pid` is the board's process.
    """

    name: str
    pid: int
    definition: str
    generation: int
    usb_vid: int | None
    usb_pid: int | None
    serial_number: str | None
    manufacturer: str | None
    product: str | None
    port: str | None
    volume: str | None
    volume_label: str | None


def write_state(folder: Path, state: EmulatedState) -> None:
    """Atomically replaces the board's state file."""
    temporary = folder / f".{STATE_FILE}.tmp"
    temporary.write_text(json.dumps(asdict(state)), encoding="utf-8")
    temporary.replace(folder / STATE_FILE)


def read_state(folder: Path) -> EmulatedState | None:
    """The state of the board in `folder`, None where its process is gone or has not said anything yet."""
    try:
        state = EmulatedState(**json.loads((folder / STATE_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return state if psutil.pid_exists(state.pid) else None


def running() -> list[tuple[Path, EmulatedState]]:
    """All running emulated boards, by folder name."""
    root = runtime_dir()
    if not root.is_dir():
        return []
    found = []
    for folder in sorted(root.iterdir()):
        state = read_state(folder)
        if state is not None:
            found.append((folder, state))
    return found
