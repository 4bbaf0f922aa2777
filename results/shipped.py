"""Figures that come with portbench: `figures/BOARD.json`, a run file for each board, without samples and logs."""

from pathlib import Path
from typing import Any, Final

from portbench.results.model import RunFile, Status
from portbench.results.storage import StorageError, read

_FOLDER: Final = Path(__file__).with_name("figures")
_LEFT_OUT: Final[dict[str, Any]] = {
    "samples": {},
    "console_tail": [],
    "log": None,
    "attribution": None,
    "waveform": None,
}


def shipped(board: str) -> RunFile:
    """The run of this board. Raises StorageError for a board without one."""
    path = _FOLDER / f"{board}.json"
    if not path.exists():
        raise StorageError(f"{board}: no figures come with portbench; measure: portbench run --board {board}")
    return read(path)


def shipped_boards() -> list[str]:
    """The boards whose figures ship."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def all_shipped() -> list[tuple[str, RunFile]]:
    """The names and the runs of all files."""
    return [(path.name, read(path)) for path in sorted(_FOLDER.glob("*.json"))]


def without_samples(run: RunFile) -> RunFile:
    """`run` as it ships: its measured rows, and only what tables and histories show of them."""
    rows = [row.model_copy(update=_LEFT_OUT) for row in run.rows if row.status is Status.MEASURED]
    return run.model_copy(update={"rows": rows})
