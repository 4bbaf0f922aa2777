"""An explained row, for its view and as JSON."""

from dataclasses import asdict, dataclass, field
from typing import Any

from portbench.results.attribution import CAUSES, Span
from portbench.results.explain import Facts, Sentence, explained
from portbench.results.model import Row, WhatIf


@dataclass(frozen=True)
class Explained:
    """`measured`: the row was run now, and is not from a run file."""

    row: Row
    measured: bool
    beside: Row | None = None
    compared: list[Sentence] = field(default_factory=list)
    what_if: list[WhatIf] = field(default_factory=list)

    @property
    def facts(self) -> Facts:
        facts = Facts.of(self.row)
        assert facts is not None  # no other rows are explained
        return facts

    @property
    def sentences(self) -> list[Sentence]:
        return explained(self.row)

    def as_json(self) -> dict[str, Any]:
        facts, row = self.facts, self.row
        spans = list(facts.attribution.spans)
        return {
            "runtime": row.runtime,
            "profile": row.profile,
            "libraries": row.libraries,
            "workload": row.workload,
            "version": row.version,
            "measured": self.measured,
            "headline": None if row.headline is None else {**row.headline.model_dump(), "value": row.value},
            "conditions": row.conditions.model_dump(mode="json"),
            "spans": len(spans),
            "attributed_share": facts.whole.named_share,
            "least_attributed_share": min(span.named_share for span in spans),
            "spi_hz": facts.attribution.spi_hz,
            "byte_gap_us": byte_gap_us(facts.whole),
            "cache_hit_rate": cache_hit_rate(facts.whole),
            **_span(facts.whole, facts.spans),
            "stages": [{"name": stage.name, **_span(stage, 1)} for stage in facts.attribution.stages],
            "sentences": [asdict(sentence) for sentence in self.sentences],
            "beside": None if self.beside is None else self._beside(self.beside),
            "what_if": [each.model_dump() for each in self.what_if],
        }

    def _beside(self, other: Row) -> dict[str, Any]:
        said = [asdict(sentence) for sentence in self.compared]
        return {"runtime": other.runtime, "profile": other.profile, "version": other.version, "sentences": said}


def _span(span: Span, spans: int) -> dict[str, Any]:
    """Describe an average span."""

    def average(counts: dict[str, int]) -> dict[str, float]:
        return {name: count / spans for name, count in counts.items()}

    return {
        "duration_us": span.duration_ps / spans / 1e6,
        "causes": [
            {
                "name": name,
                "group": CAUSES[name].group,
                "title": CAUSES[name].title,
                "us": ps / spans / 1e6,
                "share": span.share(name),
            }
            for name, ps in sorted(span.causes_ps.items(), key=lambda each: (-each[1], each[0]))
        ],
        "counts": average(span.counts),
        "interrupts": average(span.interrupts),
        "registers": average(span.registers),
    }


def byte_gap_us(span: Span) -> float | None:
    """Time between two bytes of a frame, on average over all bytes."""
    wire_bytes = span.counts.get("spi_bytes", 0)
    if not wire_bytes:
        return None
    return (span.ps("spi") - span.ps("spi_bits")) / wire_bytes / 1e6


def cache_hit_rate(span: Span) -> float | None:
    accesses = span.counts.get("cache_accesses", 0)
    return 1 - span.counts.get("cache_misses", 0) / accesses if accesses else None
