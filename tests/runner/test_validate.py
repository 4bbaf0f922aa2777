"""Validation without an image: what is a fault, what a page says, and what published programs print."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import BoardError
from portbench.firmware.images import ImageError
from portbench.results.silicon import FigureSet, Script
from portbench.runner.validate.scripts import ScriptError, ScriptStore
from portbench.runner.validate.turnaround import Distribution, measure
from portbench.runner.validate.verdict import compare, summary
from portbench.workloads import workload


def figures(relation: str = "same binary", **silicon: float) -> FigureSet:
    return FigureSet.model_validate(
        {
            "id": "a-set",
            "what": "loops",
            "source": "somebody",
            "board": "RPI_PICO",
            "measured_on": "CircuitPython 9.1.4",
            "runtime": "circuitpython-pico-9.1.4",
            "relation": relation,
            "unit": "ms",
            "method": "row",
            "workload": "interpreter",
            "profile": "default",
            "note": "why not",
            "silicon": silicon or {"a": 1000.0},
        }
    )


@pytest.mark.parametrize(
    ("relation", "emulated", "within", "fault"),
    [
        ("same binary", 1010.0, True, False),
        ("same binary", 990.0, True, False),
        ("same binary", 1010.1, False, True),
        ("same binary", 989.9, False, True),
        ("other version", 1040.0, True, False),
        ("other version", 1041.0, False, False),
        ("other conditions", 5000.0, None, False),
    ],
)
def test_only_the_same_binary_is_held_to_silicon(
    relation: str, emulated: float, within: bool | None, fault: bool
) -> None:
    outcome = compare(figures(relation), {"a": [emulated]})
    assert (outcome.compared[0].within(outcome.limit), outcome.is_fault) == (within, fault)


def test_one_step_of_what_was_published_is_no_difference() -> None:
    steps = figures(a=97.0, b=958.0).model_copy(update={"resolution": 1.0})
    assert compare(steps, {"a": [98.0], "b": [967.0]}).within == 2
    assert compare(steps, {"a": [98.1], "b": [968.0]}).within == 0


def test_a_figure_that_did_not_come_is_a_fault() -> None:
    outcome = compare(figures(a=1.0, b=2.0), {"a": [1.0]})
    assert outcome.is_fault and outcome.compared[1].ratio is None and outcome.within == 1


@given(st.floats(0.001, 1e9), st.floats(0.5, 2.0))
def test_a_ratio_is_what_it_says(silicon: float, ratio: float) -> None:
    (found,) = compare(figures(a=silicon), {"a": [silicon * ratio]}).compared
    assert found.ratio == pytest.approx(ratio)


def test_a_range_has_its_middle() -> None:
    (found,) = compare(figures("other conditions", a=1.383), {"a": [1.1, 1.2, 1.4]}).compared
    assert (found.least, found.emulated, found.most) == (1.1, 1.2, 1.4)


def test_the_summary_counts_what_was_measured() -> None:
    good = compare(figures(a=1.0, b=1.0), {"a": [1.0], "b": [1.02]})
    other = compare(figures("other version", a=1.0), {"a": [1.03]})
    assert summary([good, other]) == (
        "1 of 2 figures of the same image are within 1% of silicon; "
        "1 of 1 figures of a neighbouring version are within 4% of silicon"
    )
    assert summary([]) == ""


def script(content: bytes, file: str = "somebody/it.py") -> Script:
    return Script(
        file=file, url="https://example.invalid/it.py", sha256=hashlib.sha256(content).hexdigest(), licence="MIT"
    )


def test_a_script_is_taken_from_the_cache_by_its_hash(tmp_path: Path) -> None:
    store = ScriptStore(tmp_path, offline=True)
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody" / "it.py").write_bytes(b"print(1)\n")
    assert store.obtain(script(b"print(1)\n")) == b"print(1)\n"
    with pytest.raises(ScriptError, match=r"it\.py: sha256 is .*, not .*; remove it, and get it again: curl "):
        store.obtain(script(b"print(2)\n"))


def test_a_script_that_is_missing_is_one_line_with_what_provides_it(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="curl -fL --create-dirs -o ") as caught:
        ScriptStore(tmp_path, offline=True).obtain(script(b""))
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


def test_a_distribution_is_of_what_was_measured() -> None:
    spread = Distribution.of([float(value) for value in range(1, 102)])
    assert (spread.count, spread.p10_us, spread.median_us, spread.p90_us) == (101, 11.0, 51.0, 91.0)
    assert spread.whole_us() == [11, 51, 91]


def test_this_pcs_turnaround_is_measured_with_the_workloads_own_server() -> None:
    spread = measure(workload("ping_pong"))
    assert 0 < spread.p10_us <= spread.median_us <= spread.p90_us
    assert spread.count == 2000


class TestPrinted:
    """The programs' output; what reads it is imported here, as it runs the engine."""

    @pytest.fixture(autouse=True)
    def _engine(self) -> None:
        pytest.importorskip("portbench._engine", reason="the engine is not built; run: make build")

    def test_the_table_is_read_and_what_is_none_left_out(self) -> None:
        from portbench.runner.validate.script_run import values

        lines = ["Calculation time: 97 ms", "|item | result|", "|Loop 10 times   |97  |\r", "|Pi 9 bits |None |"]
        assert values(lines, ["Loop 10 times", "Pi 9 bits"], "x") == {"Loop 10 times": [97.0]}

    def test_a_table_that_is_not_whole_is_told(self) -> None:
        from portbench.runner.validate.script_run import values

        with pytest.raises(BoardError, match="x: the script ended without B"):
            values(["|A|1|"], ["A", "B"], "x")
        with pytest.raises(BoardError, match="x: A is 'soon', which is no number"):
            values(["|A|soon|"], ["A"], "x")

    @pytest.mark.parametrize("printed", ["", "1 x y", "SKIP", "-1 -1 SKIP: no matching params", "0 5 ok"])
    def test_what_is_no_score_is_told(self, printed: str) -> None:
        from portbench.runner.validate.perf_bench import score_of

        with pytest.raises(BoardError, match=r"^bm: "):
            score_of(printed, "bm")

    def test_a_score_is_the_norm_by_the_time(self) -> None:
        from portbench.runner.validate.perf_bench import score_of

        assert score_of("2000 4 None", "bm") == 2000.0
