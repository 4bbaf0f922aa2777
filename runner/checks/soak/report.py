"""The figures of a soak."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from portbench.runner.checks.soak.lane import Record

_CALM = "none"
_NOT_STRUCK = "not struck"


@dataclass
class Tally:
    """Adds up records. `cycles` counts rows and interrupted rows."""

    cycles: int = 0
    by_fault: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    hangs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, record: Record) -> None:
        name = f"cycle {record.number}" if record.number >= 0 else "end"
        fault = record.fault or _CALM
        for lines, into in ((record.hangs, self.hangs), (record.lost, self.lost), (record.leaks, self.leaks)):
            into += [f"{name} ({fault}): {line}" for line in lines]
        if record.number < 0:
            return
        self.cycles += 1
        self.seconds.append(record.seconds)
        counts = self.by_fault[fault]
        counts[record.status] += 1
        if record.fault and not record.struck:
            counts[_NOT_STRUCK] += 1
        elif record.fault and record.status == "measured":
            counts["recovered"] += 1
        if record.reason:
            self.reasons[fault][record.reason[:150]] += 1

    @property
    def passed(self) -> bool:
        return not (self.hangs or self.lost or self.leaks)

    def show(self, console: Console, *, reasons: bool) -> None:
        table = Table("fault", "cycles", "measured", "recovered", "failed", "interrupted", "did not strike")
        for fault, counts in sorted(self.by_fault.items()):
            failed = counts["failed"] + counts["skipped"]
            cycles = counts["measured"] + failed + counts["interrupted"]
            row = (cycles, counts["measured"], counts["recovered"], failed, counts["interrupted"], counts[_NOT_STRUCK])
            table.add_row(fault, *(str(number) for number in row))
        console.print(table)
        if reasons:
            for fault, counted in sorted(self.reasons.items()):
                for reason, number in counted.most_common(5):
                    console.print(f"{fault}: {number} x {reason}", markup=False, soft_wrap=True)
        for title, lines in (("hangs", self.hangs), ("lost results", self.lost), ("leaks", self.leaks)):
            console.print(f"{title}: {len(lines)}")
            for line in lines[:20]:
                console.print(f"  {line}", markup=False, soft_wrap=True)
        if self.seconds:
            ordered = sorted(self.seconds)
            median_s = ordered[len(ordered) // 2]
            console.print(f"{self.cycles} cycles; a cycle took {median_s:.2f} s (median), {ordered[-1]:.1f} s at most")
