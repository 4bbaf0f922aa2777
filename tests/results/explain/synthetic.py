"""Rows with an attribution whose answer is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from portbench.results.attribution import Attribution, FlashPages, Function, Spans
from portbench.results.model import Conditions, Headline, Row, Status
from portbench.where import Where

US = 1_000_000


def row(
    causes_us: Mapping[str, float],
    *,
    counts: Mapping[str, float] | None = None,
    registers: Mapping[str, int] | None = None,
    every_us: float | None = None,
    names: tuple[str, ...] = ("message",) * 10,
    spi_hz: int | None = 20_000_000,
    pages: Mapping[str, int] | None = None,
    functions: Sequence[Function] = (),
    stages: Spans | None = None,
    figures: Mapping[str, float] | None = None,
    chip: Mapping[str, int] | None = None,
    **conditions: Any,
) -> Row:
    """Every span has the same causes and counts; `every_us`: from the start of one to the next. `chip`: its clocks."""
    spans = spans_of(causes_us, counts or {}, registers or {}, names, every_us)
    return Row(
        workload="ping_pong",
        runtime="synthetic",
        build="synthetic",
        family="micropython",
        version="1",
        where=Where.EMULATED,
        status=Status.MEASURED,
        headline=Headline(name="rate", unit="1/s"),
        figures={"rate": 1.0, **(figures or {})},
        conditions=Conditions(**conditions),
        attribution=Attribution(
            spans=spans,
            stages=stages or Spans(),
            spi_hz=spi_hz,
            **{"clk_sys_hz": 125_000_000, "miss_cycles": 48, **(chip or {})},
            flash_pages=FlashPages(misses=dict(pages or {})),
            functions=list(functions),
        ),
    )


def spans_of(
    causes_us: Mapping[str, float],
    counts: Mapping[str, float] | None = None,
    registers: Mapping[str, int] | None = None,
    names: tuple[str, ...] = ("message",),
    every_us: float | None = None,
) -> Spans:
    duration = sum(round(us * US) for us in causes_us.values())
    every = duration if every_us is None else round(every_us * US)
    n = len(names)
    return Spans(
        names=list(names),
        start_ps=[index * every for index in range(n)],
        duration_ps=[duration] * n,
        reported_us=[duration / US] * n,
        causes_ps={name: [round(us * US)] * n for name, us in causes_us.items()},
        counts={name: [round(count)] * n for name, count in (counts or {}).items()},
        registers={name: [count] * n for name, count in (registers or {}).items()},
    )
