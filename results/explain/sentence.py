"""What a rule says."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sentence:
    """`share`: the part of the spans' time, 0 to 1, that it explains; None where it is not about a part of it."""

    rule: str
    text: str
    share: float | None = None
    causes: tuple[str, ...] = ()
    """The names of `results.attribution.CAUSES` that it is about."""
    figures: dict[str, float] = field(default_factory=dict)
    """The numbers in it, for programs."""
