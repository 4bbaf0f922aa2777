"""The attribution's own arithmetic."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from portbench.results.attribution import CAUSES, GROUPS, Attribution, Spans


def _spans() -> Spans:
    return Spans(
        names=["message", "message", "loop"],
        start_ps=[10, 200, 900],
        duration_ps=[100, 300, 7],
        reported_us=[1.0, 2.0, None],
        causes_ps={"spi_bits": [40, 100, 0], "gap_miss": [60, 0, 0], "code_miss": [0, 200, 7]},
        counts={"spi_bytes": [4, 0, 0]},
        interrupts={"TIMER_IRQ_0": [0, 2, 0]},
    )


def test_a_span_has_what_is_not_zero() -> None:
    second = _spans()[1]
    assert second.causes_ps == {"spi_bits": 100, "code_miss": 200}
    assert (second.counts, second.interrupts) == ({}, {"TIMER_IRQ_0": 2})
    assert second.share("spi_bits") == pytest.approx(1 / 3)
    assert second.ps("code") == 200


def test_a_total_and_those_of_one_name() -> None:
    total = _spans().named("message").total()
    assert (total.duration_ps, total.reported_us, total.ps("spi"), total.ps("gap_miss")) == (400, 3.0, 200, 60)
    assert [span.name for span in _spans()] == ["message", "message", "loop"]


def test_causes_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValidationError, match="span 1 add up to 9 ps, not 10"):
        Spans(names=["a"], start_ps=[0], duration_ps=[10], reported_us=[None], causes_ps={"pc": [9]})
    with pytest.raises(ValidationError, match="2 entries"):
        Spans(names=["a"], start_ps=[0], duration_ps=[1], reported_us=[None], causes_ps={"pc": [1, 2]})
    with pytest.raises(ValidationError, match="'luck' is no cause"):
        Spans(names=["a"], start_ps=[0], duration_ps=[1], reported_us=[None], causes_ps={"luck": [1]})


def test_every_cause_has_its_group() -> None:
    assert {cause.group for cause in CAUSES.values()} == set(GROUPS)


def test_json_and_back() -> None:
    whole = Attribution(spans=_spans(), spi_hz=12_000_000)
    assert Attribution.model_validate_json(whole.model_dump_json()) == whole
