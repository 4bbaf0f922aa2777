"""A sweep's rows on disk: what a kill leaves, and what is no row."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.results.model import Row
from portbench.results.storage import StorageError
from portbench.runner.jobs.failed import failed_row
from portbench.runner.jobs.job import Job
from portbench.runner.sweep.store import SweepStore
from tests.sweep.test_knees import point
from tests.sweep.test_plan import planned


def jobs() -> list[Job]:
    return planned("runtime=portbench-native", "turnaround_us=0,100,200").jobs


def row() -> Row:
    return point(1.0).rows[0]


def test_rows_are_there_for_the_next_and_failed_ones_are_due_again(tmp_path: Path) -> None:
    one, two, three = jobs()
    with contextlib.closing(SweepStore(tmp_path, "a")) as store:
        store.append(one, row())
        store.append(two, failed_row(two, "out of memory"))
    with contextlib.closing(SweepStore(tmp_path, "a")) as store:
        assert store.row_of(one) == row() and store.row_of(two) is None and store.row_of(three) is None
        store.append(two, row())
    with contextlib.closing(SweepStore(tmp_path, "a")) as store:
        assert store.row_of(two) == row()
    assert [path.name for path in (tmp_path / "sweeps").iterdir()] == ["a.jsonl"]


def test_half_a_line_costs_its_row_alone(tmp_path: Path) -> None:
    one, two, _ = jobs()
    with contextlib.closing(SweepStore(tmp_path, "a")) as store:
        store.append(one, row())
        store.append(two, row())
    whole = (tmp_path / "sweeps" / "a.jsonl").read_bytes()
    first = whole.index(b"\n") + 1

    @settings(max_examples=25)
    @given(st.integers(first, len(whole) - 1))
    def cut_at(end: int) -> None:
        (tmp_path / "sweeps" / "a.jsonl").write_bytes(whole[:end])
        with contextlib.closing(SweepStore(tmp_path, "a")) as store:
            assert store.row_of(one) == row() and store.row_of(two) is None
            store.append(two, row())
        assert (tmp_path / "sweeps" / "a.jsonl").read_bytes() == whole

    cut_at()


def test_what_is_no_row_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "a.jsonl").write_text("{}\n")
    with pytest.raises(StorageError, match=r"a\.jsonl: line 1 is no row of a sweep; remove that line"):
        SweepStore(tmp_path, "a")


def test_one_sweep_of_a_name_runs_at_a_time(tmp_path: Path) -> None:
    with contextlib.closing(SweepStore(tmp_path, "a")):
        with pytest.raises(StorageError, match=r"a\.jsonl: another sweep of this name runs now"):
            SweepStore(tmp_path, "a")
        SweepStore(tmp_path, "b").close()
