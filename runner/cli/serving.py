"""Waiting for Ctrl-C, and the workload of verbs that serve one."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from portbench.errors import OptionError, unknown
from portbench.workloads import Served, workloads

_LOOK_S = 0.1


@contextmanager
def until_stopped() -> Iterator[Callable[[], bool]]:
    """Yield a function that waits a moment and returns False after Ctrl-C or SIGTERM."""
    ended: list[int] = []  # not an Event: a signal in the middle of its `wait` waits forever for the Event's lock
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda number, _: ended.append(number))

    def goes_on() -> bool:
        if not ended:
            time.sleep(_LOOK_S)  # short, as Windows delivers Ctrl-C only between two
        return not ended

    try:
        yield goes_on
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def served_workload(name: str | None) -> Served:
    """The workload `name`, else the first with a server on the PC. Raises OptionError or UnknownName."""
    known = {each.name: each for each in workloads().values() if isinstance(each, Served)}
    if name is not None and name not in known:
        raise OptionError(f"--workload: {unknown('workload', name, known)}")
    return known[name or next(iter(known))]
