"""HardFaults and lock-ups of the emulated cores, as lines of the board's log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from portbench._engine import Machine
from portbench.boards.emulated.complaints import Complaints, Kind

MOST_LINES: Final = 20
"""A program may fault for ever, and a watchdog start it again and again; its first faults tell the most."""


class CpuFaultLog:
    """Tells each fault once, the first few since power-up; the first of a kind goes to `complaints`, too."""

    def __init__(self, log: Callable[[str], None], complaints: Complaints | None = None) -> None:
        self._log = log
        self._complaints = complaints
        self._lines = 0

    def powered_up(self) -> None:
        self._lines = 0

    def look(self, machine: Machine) -> str | None:
        """Where core 0 has locked up since the last look, and why."""
        reports, dropped = machine.cpu_faults()
        for report in reports[: max(0, MOST_LINES - self._lines)]:
            self._log(f"{report['t_us'] / 1e6:.6f} s {report['text']}")
        if self._complaints is not None:
            for report in reports:
                self._complaints.tell(Kind.LOCK_UP if report["locked_up"] else Kind.HARD_FAULT, report["text"])
        before, self._lines = self._lines, self._lines + len(reports) + dropped
        if before <= MOST_LINES < self._lines:
            self._log("further faults of the cores are not logged until power is cycled")
        return next((report["text"] for report in reports if report["locked_up"] and report["core"] == 0), None)
