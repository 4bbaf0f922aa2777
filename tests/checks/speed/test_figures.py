"""Targets, and what the table and the JSON say about them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.runner.checks.speed.figures import Figure, Target, skipped, table


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_bound_is_kept_on_one_side_only(value: float, bound: float) -> None:
    assert Target("at least", bound).met_by(value) is not Target("below", bound).met_by(value)
    assert Target("at least", value).met_by(value)


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("a", 2.0, "s", Target("below", 2.0)), False),
        (Figure("a", 1.9, "s", Target("below", 2.0)), True),
        (Figure("a", 150.0, "M", Target("at least", 150)), True),
        (Figure("a", 1.0, "s"), None),
        (skipped("a", "no image", "s", Target("below", 2.0)), None),
    ],
)
def test_met(figure: Figure, met: bool | None) -> None:
    assert figure.met is met and figure.as_json()["met"] is met


def test_the_table_tells_everything() -> None:
    out = io.StringIO()
    figures = [
        Figure("speed", 247.8, "M instr/s", Target("at least", 150), "how it was measured"),
        Figure("start", 1.05, "s"),
        skipped("row", "no image\nat all", "s", Target("below", 2)),
    ]
    Console(file=out, width=160).print(table(figures))
    text = out.getvalue()
    for part in (
        "248 M instr/s",
        "at least 150 M instr/s",
        "how it was measured",
        "1.05 s",
        "skipped",
        "no image at all",
    ):
        assert part in text
