"""The four kinds of measurement, a file each: how the PC and the board take part in a row."""

from __future__ import annotations

from collections.abc import Callable

from portbench.runner.kinds import called, foreign, paired, served
from portbench.runner.kinds.row import MeasuredRow, ReadyRow
from portbench.runner.plan import PlannedRow
from portbench.workloads import Readiness


def measurement_of(planned: PlannedRow) -> Callable[[ReadyRow], MeasuredRow]:
    """The measurement that `planned` asks for."""
    if planned.partner is not None:
        return paired.measure
    if planned.entry.family.traits.timed_by_pc:
        return foreign.measure
    return called.measure if planned.workload.readiness is Readiness.LISTENING else served.measure
