"""How long a long history takes to load, beside reading its JSON and nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from portbench.files import TemporaryFolder
from portbench.results.histories.store import Entry, load

ROWS: Final = 10_000
_A_FILE: Final = 2
_RUNTIMES: Final = 20
_VERSIONS: Final = 10
_TIMES: Final = 3


@dataclass(frozen=True)
class HistorySpeed:
    """The best of some times."""

    rows: int
    load_s: float
    json_s: float


def measure_history(rows: int = ROWS) -> HistorySpeed:
    """Of a history that is made for this: two rows in a file, as a run with two profiles leaves them."""
    with TemporaryFolder("portbench-history") as folder:
        _make(folder, rows)
        load_s = min(_timed(lambda: load(folder), rows) for _ in range(_TIMES))
        json_s = min(_timed(lambda: _plain(folder), rows) for _ in range(_TIMES))
    return HistorySpeed(rows, load_s, json_s)


def _timed(work: Callable[[], list[object] | list[Entry]], rows: int) -> float:
    started = time.perf_counter()
    found = len(work())
    took = time.perf_counter() - started
    if found != rows:
        raise AssertionError(f"a history of {rows} rows was read as {found}")
    return took


def _plain(folder: Path) -> list[object]:
    return [json.loads(line) for path in folder.glob("*/*/*.jsonl") for line in path.read_text().splitlines()]


def _make(folder: Path, rows: int) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(0, rows, _A_FILE):
        measured_utc = (began + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        version = f"1.{number // _RUNTIMES % _VERSIONS}.0"
        runtime = f"micropython-{number % _RUNTIMES}"
        entries = [
            Entry(
                measured_utc=measured_utc,
                run=f"{measured_utc}.json",
                revision="a" * 40,
                runtime=runtime,
                version=version,
                build="firmware.uf2",
                family="micropython",
                workload="ping_pong",
                where="emulated",
                timed_by="board",
                board="W5500_EVB_PICO",
                profile=f"profile-{profile}",
                settings={"messages": 1000},
                seed=1,
                figure="messages_per_s",
                unit="messages/s",
                better="higher",
                values=[611.0, 612.0, 613.0],
                image_sha256="0" * 64,
            )
            for profile in range(min(_A_FILE, rows - number))
        ]
        path = folder / runtime / version / f"{number:08}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(asdict(entry))}\n" for entry in entries))
