"""The check against silicon without an image: faults, the summary, and the output of published programs."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.results.silicon import FigureSet, Script
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


@pytest.mark.engine
def test_each_method_is_measured_by_its_own_means(monkeypatch: pytest.MonkeyPatch) -> None:
    from portbench.runner.silicon import check, guests, printed, programs, sends

    told = list[object]()

    def stand_in(answer: object) -> Callable[..., object]:
        return lambda *given, **named: (told.append((*given[-2:], *named.values())), answer)[1]

    script = Script(file="t/a.py", url="https://a", sha256="0" * 64, licence="MIT")
    store: Any = SimpleNamespace(obtain=lambda entry: SimpleNamespace(path=Path("an.uf2"), sha256="1", entry=entry))
    monkeypatch.setattr(check, "driver_files", lambda names, _: {name: name.encode() for name in names})
    monkeypatch.setattr(check, "library_files", lambda version, _: {"lib.py": bytes([version])})
    monkeypatch.setattr(sends, "Sends", dict)
    monkeypatch.setattr(check, "pinned_content", lambda pinned, *_: pinned.url.encode())
    for module, name, answer in (
        (programs, "times_ms", {"a": 4.0}),
        (programs, "score", 5.0),
        (programs, "client_ms", 6.0),
        (sends, "mbit_s", 7.0),
        (guests, "figures", {"a": 8.0, "b": 1.0}),
        (printed, "figures", {"a": 9.0, "b": 1.0}),
    ):
        monkeypatch.setattr(module, name, stand_in(answer))
    one = figures(a=2.0).model_copy(update={"scale": 10.0, "libraries": 9, "server": "10.0.0.1:7"})
    for method, settings, value in (
        ("script", (), 4.0),
        ("perf_bench", (), 5.0),
        ("client", ("turnaround_us=70",), 60.0),
        ("sends", ("spi_mhz=10", "block=9", "drain=1"), 70.0),
        ("guest", (), 8.0),
        ("image", (), 9.0),
    ):
        scripts = (script,) if method in ("script", "client") else ()
        set_of = one.model_copy(update={"method": method, "settings": settings, "scripts": scripts})
        report = Silicon(lambda _: None, store).measure(set_of)
        assert [found.value for found in report.findings] == [value], (method, report.skipped)
    assert told == [
        (b"https://a", {"a": 2.0}),
        (b"perf_bench/benchrun", "circuitpython-pico-9.1.4: a"),
        ({"lib.py": b"\t"}, 70),
        (Path("an.uf2"), {"spi_mhz": 10, "block": 9, "drain": 1}, 0),
        ("RPI_PICO", 0),
        (Path("an.uf2"), "RPI_PICO"),
    ]


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
