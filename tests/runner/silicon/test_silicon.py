"""The check against silicon without an image: faults, the summary, and the output of published programs."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.results.silicon import FigureSet
from portbench.runner.silicon.check import Silicon
from portbench.runner.silicon.compare import Report, compare, faults, summary, within
from portbench.runner.silicon.table import show


def figures(relation: str = "same binary", **silicon: float) -> FigureSet:
    return FigureSet.model_validate(
        {
            "id": "a-set",
            "what": "loops",
            "source": "a-source",
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
    ("relation", "emulated", "kept", "fault"),
    [
        ("same binary", 1010.0, True, False),
        ("same binary", 990.0, True, False),
        ("same binary", 1010.1, False, True),
        ("same binary", 989.9, False, True),
        ("same source", 1030.0, True, False),
        ("same source", 969.9, False, True),
        ("other version", 1040.0, True, False),
        ("other version", 1041.0, False, False),
        ("other conditions", 5000.0, None, False),
    ],
)
def test_only_the_same_binary_or_source_is_held_to_silicon(
    relation: str, emulated: float, kept: bool | None, fault: bool
) -> None:
    report = compare(figures(relation), {"a": emulated})
    assert (report.findings[0].met, bool(faults([report]))) == (kept, fault)


@pytest.mark.engine
def test_a_row_is_measured_with_the_sets_settings() -> None:
    changes = {"runtime": "portbench-native", "workload": "sd_card", "profile": "tuned"}
    few = figures("other conditions", read_total_us=8636.0).model_copy(
        update={**changes, "settings": ("file_bytes=8192",)}
    )
    (found,) = Silicon(lambda _: None)._row(few).findings
    assert found.value == 8636


def test_one_step_of_what_was_published_is_no_difference() -> None:
    steps = figures(a=97.0, b=958.0).model_copy(update={"resolution": 1.0})
    assert within(compare(steps, {"a": 98.0, "b": 967.0}).findings) == 2
    assert within(compare(steps, {"a": 98.1, "b": 968.0}).findings) == 0


def test_a_figure_that_did_not_come_is_a_fault() -> None:
    report = compare(figures(a=1.0, b=2.0), {"a": 1.0})
    assert report.faults == ("a-set: b: no figure",)
    assert report.findings[1].ratio is None and within(report.findings) == 1


@given(st.floats(0.001, 1e9), st.floats(0.5, 2.0))
def test_a_ratio_is_what_it_says(silicon: float, ratio: float) -> None:
    (found,) = compare(figures(a=silicon), {"a": silicon * ratio}).findings
    assert found.ratio == pytest.approx(ratio)


def test_the_summary_counts_what_was_measured() -> None:
    same, other = figures(a=1.0, b=1.0), figures("other version", a=1.0)
    assert summary([compare(same, {"a": 1.0, "b": 1.02}), compare(other, {"a": 1.03})]) == (
        "1 of 2 figures of the same image are within 1% of silicon; "
        "1 of 1 figures of a neighbouring version are within 4% of silicon; "
        "3 of 3 figures of network, SD card and latency are within 5% of silicon"
    )
    built = figures("same source", a=1.0).model_copy(update={"method": "script"})
    assert summary([compare(built, {"a": 0.98})]) == ("1 of 1 figures of the same source are within 3% of silicon")
    others = [compare(figures("other conditions", a=1.0, b=1.0), {"a": value}) for value in (0.95, 0.94, 1.06)]
    assert summary(others) == "1 of 6 figures of network, SD card and latency are within 5% of silicon"
    assert summary([]) == ""


def test_reports_are_shown_figure_by_figure() -> None:
    output = StringIO()
    good = figures(a=1000.0, b=2.0, c=3.0).model_copy(update={"chosen_by": ("a", "b")})
    found = compare(good, {"a": 1234.4, "b": 2.01}, notes=("a note",))
    other = compare(figures("other conditions", a=5.0), {"a": 7.0})
    show(Console(file=output, width=100), [found, Report(good, skipped="no image"), other])
    *lines, last = (line.rstrip() for line in output.getvalue().splitlines())
    assert lines == SHOWN.splitlines() and last == summary([found, other])


SHOWN = """\
a-set: loops
a-source
silicon: CircuitPython 9.1.4; emulated: circuitpython-pico-9.1.4 (same binary)
why not
figure  measured  expected  note
a        1234 ms   1000 ms  1.234 of silicon, beyond 1%
b        2.01 ms      2 ms  1.005 of silicon, within 1%
c        skipped      3 ms  no figure
a note

a-set: loops
skipped: no image

a-set: loops
a-source
silicon: CircuitPython 9.1.4; emulated: circuitpython-pico-9.1.4 (other conditions)
why not
figure  measured  expected  note
a           7 ms      5 ms  1.400 of silicon

a-set: Of the figures by which the model was chosen 1 of 2 are within 1%, of those that had no part in it 0 of 1.
"""
