"""Rows with an attribution whose answer is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from portbench.results.attribution import CAUSES, Attribution, FlashPages, Function, Spans
from portbench.results.model import Conditions, Headline, Row, Status
from portbench.where import Where
from tests.walk import Walk

US = 1_000_000
COUNTS = ("instructions", "spi_frames", "spi_bytes", "cache_misses", "cache_accesses", "fpu_instructions")
FIGURES = ("certificate_us", "key_exchange_us", "certificate_and_key_exchange_us", "ready_us")


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


def drawn(walk: Walk) -> Row:
    """Draw a row that most rules have something to say of."""
    pick = walk.pick
    causes = {pick(tuple(CAUSES)): pick((1, 20, 300, 4000, 50_000)) for _ in range(pick((2, 4, 8)))}
    counts = {pick(COUNTS): pick((1, 9, 90, 4000)) for _ in range(pick((2, 5, 7)))}
    registers = {pick(("S0_RX_RSR read", "S0_SR read", "S0_IR read", "S0_CR write")): pick((1, 3, 9))}
    figures = {pick(FIGURES): pick((300, 500_000, 2_000_000)) for _ in range(2)}
    place: dict[str, Any] = {"address": "0x10042000", "bytes": 9, "misses": 50, "known_by": "elf"}
    named = Function(name=pick(("ecp_double_jac", "sha256", "tcp_receive")), **place)
    long = [pick((3, 9, 15)) * 100_000_000_000 for _ in range(2)]
    waits = [each // 10 * pick((0, 3, 5, 8)) for each in long]
    spent = {"link": waits, "code_run": [each - wait for each, wait in zip(long, waits, strict=True)]}
    about: dict[str, Any] = {"start_ps": [0, long[0]], "reported_us": [None] * 2, "causes_ps": spent}
    stages = Spans(names=["boot", "link"], duration_ps=long, **about)
    return row(
        causes,
        stages=pick((None, stages)),
        counts=counts,
        registers=registers,
        every_us=pick((None, 64_000, 250_000)),
        names=(pick(("message", "message", "handshake", "page")),) * pick((1, 2, 3, 10)),
        spi_hz=pick((None, 2_000_000, 20_000_000)),
        pages=pick(({}, {"0x10042000": 900, "0x10050000": 100})),
        functions=pick(([], [named])),
        figures=figures,
        chip=pick(({}, {"clk_sys_hz": 150_000_000, "flash_hz": 37_500_000})),
        intn=pick((None, True, False)),
        turnaround_us=pick((None, 200)),
    )
