"""The shape of all checks: targets, the table, the record and the status."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.errors import PortbenchError
from portbench.runner.checks.check import Check, Finding, Report, Target, faults
from portbench.runner.checks.table import show


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_bound_is_kept_on_one_side_only(value: float, bound: float) -> None:
    assert Target("at least", bound).met_by(value) is not Target("below", bound).met_by(value)
    assert Target("at least", value).met_by(value)


@pytest.mark.parametrize(
    ("finding", "met"),
    [
        (Finding("a", 2.0, "s", Target("below", 2.0)), False),
        (Finding("a", 1.9, "s", Target("below", 2.0)), True),
        (Finding("a", 150.0, "M", Target("at least", 150)), True),
        (Finding("a", 1.0, "s"), None),
        (Finding("a", None, "s", Target("below", 2.0), "no image"), None),
        (Finding("a", 102.0, "ms", Target("near", 100.0, 2.0)), True),
        (Finding("a", 102.1, "ms", Target("near", 100.0, 2.0)), False),
        (Finding("a", 500.0, "ms", Target("near", 100.0)), None),
        (Finding("a", None, "ms", Target("near", 100.0, 2.0)), False),
    ],
)
def test_met(finding: Finding, met: bool | None) -> None:
    assert finding.met is met


class Sample(Check):
    name = "sample"
    groups = "suite"

    def parts(self) -> dict[str, str]:
        return {"one": "The first part", "two": "The second part"}

    def run(self, part: str) -> Report:
        if part == "two":
            raise PortbenchError("no image\nat all")
        figures = (
            Finding("speed", 247.8, "M instr/s", Target("at least", 150), "how it was measured"),
            Finding("start", 1.05, "s"),
            Finding("row", None, "s", Target("below", 2), "no row"),
        )
        return Report(part, self.parts()[part], figures)


class Counted(Sample):
    outcomes = ("right", "wrong")


def printed(check: Check, reports: Sequence[Report], width: int) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width), check, reports)
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_has_everything(width: int) -> None:
    check = Sample(lambda line: None)
    text = printed(check, [check.measure(part) for part in check.parts()], width)
    for part in (
        "one: The first part",
        "247.8 M instr/s",
        "at least 150 M instr/s",
        "how it was measured",
        "1.05 s",
        "skipped",
        "two: The second part",
        "skipped: no image at all",
    ):
        assert part in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())


def test_outcomes_are_counted_by_group() -> None:
    findings = [Finding(name, outcome=outcome) for name, outcome in (("a", "right"), ("b", "wrong"), ("c", "right"))]
    lines = printed(Counted(print), [Report("one", "One", tuple(findings))], 100).splitlines()
    assert [line.split() for line in lines] == [["suite", "right", "wrong", "all"], ["one", "2", "1", "3"]]


def test_a_part_without_a_measured_finding_is_a_fault() -> None:
    good, none = Report("a", "A", (Finding("x", 1.0),)), Report("b", "B", (Finding("x", None),))
    assert faults([good]) == [] and good.is_measured
    assert faults([good, none]) == ["1 of 2 parts could not be measured: b"]
    assert faults([Report("a", "A", good.findings, faults=("x: 1 s",))]) == ["x: 1 s"]


def test_a_record_is_written_part_by_part(tmp_path: Path) -> None:
    check = Sample(lambda line: None)
    check.record(tmp_path / "record.json", [check.measure("one")])
    document = json.loads((tmp_path / "record.json").read_text())
    (part,) = document["parts"]
    assert document["check"] == "sample"
    assert [finding["name"] for finding in part["findings"]] == ["speed", "start", "row"]
    assert part["findings"][0]["target"] == {"kind": "at least", "bound": 150, "tolerance": None}
    assert [finding["met"] for finding in part["findings"]] == [True, None, None]
    assert document["started_utc"] and document["machine"]["cores"] and document["load_before"] >= 0
