"""The result of a cycle, and the sum of many."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Record:
    """`number` None: a command that is not killed. `status`: measured, failed, skipped or interrupted.

    The lists are empty if all is well.
    """

    number: int | None
    fault: str | None
    struck: bool = False
    status: str = ""
    reason: str = ""
    seconds: float = 0.0
    hangs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        if self.number is None or not self.fault or self.status != "measured":
            return self.status
        return "recovered" if self.struck else "did not strike"

    @property
    def troubles(self) -> list[str]:
        kinds = {"hang": self.hangs, "lost result": self.lost, "leak": self.leaks}
        name = f"cycle {self.number} ({self.fault or 'no fault'})"
        return [f"{name}: {kind}: {line}" for kind, lines in kinds.items() for line in lines]


def summary(records: Sequence[Record]) -> Iterator[str]:
    """Outcomes by fault, troubles, and the time that cycles took."""
    by_fault: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        by_fault[record.fault or "no fault"][record.outcome] += 1
    for fault, counted in sorted(by_fault.items()):
        yield f"{fault}: {', '.join(f'{times} {outcome}' for outcome, times in sorted(counted.items()))}"
    for title, name in (("hangs", "hangs"), ("lost results", "lost"), ("leaks", "leaks")):
        yield f"{title}: {sum(len(getattr(record, name)) for record in records)}"
    seconds = sorted(record.seconds for record in records)
    median_s = seconds[len(seconds) // 2]
    yield f"{len(seconds)} cycles; a cycle took {median_s:.2f} s (median), {seconds[-1]:.1f} s at most"
