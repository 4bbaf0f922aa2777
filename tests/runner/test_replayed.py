"""A closer look at a row: one exchange on the wires, and what changes bring, of the native client."""

import itertools
from contextlib import closing
from pathlib import Path

import pytest

from portbench.boards import BoardError
from portbench.boards.emulated.replay import WireLog
from portbench.boards.emulated.trace import SpiFrame
from portbench.results.model import MOST_FRAMES, Row, Status
from portbench.runner.bench import Bench
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import image_store
from portbench.runner.replayed import ReplayedRow, waveform_of

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def options() -> BenchOptions:
    asked = {"runtime": ["portbench-native"], "where": "emulated", "runs": 2, "messages": "12"}
    return read_options(asked | {"attribute": True, "what_if": True})


@pytest.fixture(scope="module")
def planned(options: BenchOptions) -> list[PlannedRow]:
    return plan(options)


def measured(options: BenchOptions, folder: Path, planned: list[PlannedRow]) -> list[Row]:
    with closing(Bench(options.but(results_dir=folder), image_store(), folder)) as bench:
        return [bench.measure(each).row for each in planned]


@pytest.fixture(scope="module")
def rows(options: BenchOptions, planned: list[PlannedRow], tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return measured(options, tmp_path_factory.mktemp("closer"), planned)


def test_a_run_keeps_a_closer_look_in_the_first_run_of_a_row(rows: list[Row]) -> None:
    first, second = rows
    assert first.waveform is not None and first.what_if and first.attribution is not None
    assert second.waveform is None and second.what_if == [] and first.note is None


def test_other_layouts_are_run_without_jitter(options: BenchOptions, planned: list[PlannedRow], tmp_path: Path) -> None:
    asked = options.but(attribute=False, what_if=False, layouts=3, parallel=2)
    first, second = measured(asked, tmp_path, plan(asked))
    found = first.layouts
    assert found is not None and second.layouts is None and first.note is None
    plain = ReplayedRow(planned[0])
    assert found.linked == plain.planned.workload.check(plain.figures.result or {}, planned[0].settings).figures
    assert len(found.drawn) == 3 and found.drawn[0].keys() == found.linked.keys()
    # The client runs from SRAM.
    assert all(each == pytest.approx(found.linked, rel=0.01) for each in (found.free, *found.drawn))


def test_a_message_of_the_native_client_on_its_wires(rows: list[Row]) -> None:
    found = rows[0].waveform
    assert found is not None and (found.noun, found.number) == ("message", 6)
    assert 210_000 < found.duration_ns < 225_000  # of these the PC takes 200 us
    assert [(each.sender, each.length_bytes) for each in found.cable] == [("pc", 60), ("board", 56)]
    assert all(each.duration_ns == 5760 for each in found.cable)
    asked, answered = found.cable
    assert asked.start_ns + asked.duration_ns <= answered.start_ns
    assert answered.start_ns <= found.duration_ns <= answered.start_ns + 2 * answered.duration_ns
    spi = found.spi
    assert "S0_CR" in spi.name and found.spi_left_out == 0
    assert list(spi.start_ns) == sorted(spi.start_ns) and max(spi.start_ns) < found.duration_ns
    levels = [each.high for each in found.intn]
    assert levels and all(one != other for one, other in itertools.pairwise(levels))


def test_a_row_without_exchanges_has_no_waveform(options: BenchOptions) -> None:
    asked = {"runtime": ["wiznet-hardwired"], "workload": ["interpreter"], "where": "emulated"}
    quick = ReplayedRow.quick(plan(read_options(asked).but(runs=2))[1], options.what)
    assert quick.waveform() is None and (quick.planned.number, quick.planned.of) == (1, 1)


def test_a_look_that_fails_leaves_the_row_measured(
    planned: list[PlannedRow], options: BenchOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise BoardError("the board went away")

    monkeypatch.setattr(ReplayedRow, "waveform", fails)
    (row,) = measured(options, tmp_path, planned[:1])
    assert (row.status, row.note) == (Status.MEASURED, "not looked at closer: the board went away")
    assert row.attribution is not None and row.waveform is None


def test_a_waveform_keeps_so_many_frames_and_counts_the_rest() -> None:
    frame = SpiFrame(0.0, 1.0, "W5500", "S0_CR", 1, True, 1, b"\x01", "OPEN", 4)
    frames = tuple(frame._replace(start_us=float(at), end_us=at + 1.5) for at in range(MOST_FRAMES + 7))
    found = waveform_of(WireLog(0.0, 5000.0, frames[:MOST_FRAMES], len(frames), (), ()), "exchange", 1)
    assert len(found.spi.name) == MOST_FRAMES and found.spi_left_out == 7
    assert (found.duration_ns, found.spi.start_ns[-1], found.spi.duration_ns[-1]) == (5_000_000, 999_000, 1500)
    assert found.intn == found.cable == []
