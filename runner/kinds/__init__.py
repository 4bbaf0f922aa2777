"""The four kinds of measurement, a file each: how the PC and the board take part in a row."""

import importlib
from collections.abc import Callable

from portbench.runner.kinds.row import MeasuredRow, ReadyRow
from portbench.runner.plan import PlannedRow
from portbench.workloads import Called


def measurement_of(planned: PlannedRow) -> Callable[[ReadyRow], MeasuredRow]:
    """The measurement that `planned` asks for. Only its file is imported: the others have servers that it lacks."""
    if planned.partner is not None:
        kind = "paired"
    elif planned.entry.family.traits.timed_by_pc:
        kind = "foreign"
    else:
        kind = "called" if isinstance(planned.workload, Called) else "served"
    measure: Callable[[ReadyRow], MeasuredRow] = importlib.import_module(f"{__name__}.{kind}").measure
    return measure
