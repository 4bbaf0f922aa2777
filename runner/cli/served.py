"""Which workload a PC serves."""

from __future__ import annotations

from portbench.errors import OptionError
from portbench.nearest import unknown
from portbench.workloads import Readiness, Workload, workloads


def served_workload(name: str | None) -> Workload:
    """The workload called `name`, else the first that the PC has a part in. Raises OptionError or UnknownName."""
    known = {each.name: each for each in workloads().values() if each.readiness is Readiness.CONNECTED}
    if name is not None and name not in known:
        raise OptionError(f"--workload: {unknown('workload', name, known)}")
    return known[name or next(iter(known))]
