"""Time to load a long history, beside reading its JSON and nothing else."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from portbench.results.histories.store import Entry, entries_of, load
from portbench.results.shipped import shipped

_PROFILES: Final = ("as-published", "tuned")
_RUNTIMES: Final = 20
_VERSIONS: Final = 10
_TIMES: Final = 3


def test_load(tmp_path: Path, short: bool, figure: Callable[..., None]) -> None:
    """A history with two rows in a file, as a run with two profiles leaves them."""
    rows = 200 if short else 10_000
    _make(tmp_path, rows)
    load_s = _best_s(lambda: load(tmp_path), rows)
    json_s = _best_s(lambda: _plain(tmp_path), rows)
    what = f"history of {rows} rows"
    figure(f"{what}: load", load_s, "s", below=1)
    figure(f"{what}: beside its JSON alone", load_s / json_s, "x", below=3)


def _best_s(work: Callable[[], list[object] | list[Entry]], rows: int) -> float:
    took_s = []
    for _ in range(_TIMES):
        started_s = time.process_time()
        assert len(work()) == rows
        took_s.append(time.process_time() - started_s)
    return min(took_s)


def _plain(folder: Path) -> list[object]:
    return [json.loads(line) for path in folder.glob("*/*/*.jsonl") for line in path.read_text().splitlines()]


def _make(folder: Path, rows: int) -> None:
    entry = entries_of(shipped("W5500_EVB_PICO"), "run.json")[0]
    began = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(0, rows, len(_PROFILES)):
        measured_utc = (began + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        runtime, version = f"micropython-{number % _RUNTIMES}", f"1.{number // _RUNTIMES % _VERSIONS}.0"
        entry = replace(entry, measured_utc=measured_utc, runtime=runtime, version=version)
        path = folder / runtime / version / f"{number:08}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(asdict(replace(entry, profile=profile))) for profile in _PROFILES]
        path.write_text("".join(f"{line}\n" for line in lines))
