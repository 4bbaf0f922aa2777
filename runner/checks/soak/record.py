"""What a cycle of a soak came to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Record:
    """The result of a cycle. `status`: measured, failed, skipped or interrupted; the lists are empty if all is well."""

    number: int
    fault: str | None
    struck: bool = False
    status: str = ""
    reason: str = ""
    seconds: float = 0.0
    hangs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
