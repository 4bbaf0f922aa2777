"""Rows end in any order, and are stored and shown in the plan's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portbench.results import storage
from portbench.results.model import Row
from portbench.runner.jobs.job import Rows
from portbench.runner.jobs.run import Run, planned
from portbench.runner.plan import PlannedRow
from tests.results.rows import missing, row


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_a_run_is_stored_and_shown_in_the_plans_order(
    order: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, options = planned({"runtime": ["micropython-1.20.0"], "runs": 2, "results_dir": tmp_path})
    assert len(rows) == 4

    def result(of: PlannedRow) -> Row:
        told: dict[str, Any] = {"runtime": of.entry.id, "profile": of.profile.name, "run_index": of.number - 1}
        return row(2000, **told) if of.number == 1 else missing(status="failed", reason="no", **told)

    def measure(rows: list[PlannedRow], *_: object) -> Rows:
        yield from ((rows[place], result(rows[place])) for place in order)

    monkeypatch.setattr("portbench.runner.jobs.run.measure", measure)
    with Run(rows, options) as run:
        ended = [measured for _, measured in run.measured()]
    wanted = list(map(result, rows))
    assert ended == [wanted[place] for place in order]
    assert run.run.rows == wanted == storage.read(tmp_path / "latest.json").rows
    (file,) = storage.run_files(tmp_path)
    assert storage.read(file).rows == wanted
