"""The contract of a workload: its question, settings and figures.

Who connects, and in which languages it runs, is said by the classes in served.py, called.py, paired.py, native.py and
foreign.py: a workload inherits those that it is. Models: TechEmpower's `toolset/test_types/`, MicroPython's
`tests/perf_bench/benchrun.py`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final

from portbench.workloads.figures import Column, Measurement, Metric, Spent, Timed
from portbench.workloads.published import PublishedSource, read_published
from portbench.workloads.session import Session
from portbench.workloads.settings import WorkloadSettings

_PYTHONS: Final = ("micropython", "circuitpython")


class Readiness(StrEnum):
    """The state of the board before the workload's body runs; the name of the client's script in clients/."""

    BOOTED = "booted"
    """The runtime runs, without a network."""
    CONNECTED = "connected"
    """The board has link and address, and a TCP connection to the PC's server is open."""
    LISTENING = "listening"
    """The board has link and address, and has announced the TCP port on which it listens."""


class Workload(ABC):
    """One question that is asked of every port.

    Its folder holds this class (`workload.py`), a README, and a body for each language: `micropython.py`,
    `circuitpython.py`, one `python.py` for both, or in C `native.uf2` (`native_rp2350.uf2`). A body in Python is a
    function with the name of the folder; its parameters are the open connection or the listening socket, if any, and
    settings by name.
    """

    name: ClassVar[str]
    """The name of the folder."""
    title: ClassVar[str]
    headline: ClassVar[Metric]
    settings_type: ClassVar[type[WorkloadSettings]]
    quick_settings: ClassVar[Mapping[str, Any]] = {}
    """Settings of a short but complete run, for traces, soaks and tests, where they differ from the defaults."""
    readiness: ClassVar[Readiness] = Readiness.BOOTED
    """Set by `Served`, `Called` and `Paired`."""
    reading: ClassVar[str] = ""
    """One paragraph for the results page: the meaning of headline and columns."""
    columns: ClassVar[tuple[Column, ...]] = ()
    comparable: ClassVar[tuple[str, ...]] = ()
    """Figures to compare with published ones that lack the headline, the best first."""
    parts: ClassVar[tuple[str, ...]] = ()
    """Figures of the headline's kind that `compare` judges one by one, beside the headline."""
    across: ClassVar[str | None] = None
    """The setting whose values are the columns of a further table, with the runtimes as rows."""
    drifting: ClassVar[str | None] = None
    """The samples whose halves are compared to detect a drifting run."""
    exchange: ClassVar[str] = "exchange"
    """The noun for one exchange with the PC."""
    boards_only: ClassVar[bool] = False
    """Ports on a PC do not run this workload."""
    by_default: ClassVar[bool] = False
    """Measured if no workload is named."""

    @abstractmethod
    def check(self, result: Mapping[str, Any], settings: Any, sessions: Sequence[Session] = ()) -> Measurement:
        """The figures of a client's result and of the finished `sessions`, in order. Raises BadResult if impossible."""

    def quick(self) -> WorkloadSettings:
        return self.settings_type.model_validate(self.quick_settings)

    def exchanges(self, settings: Any) -> int:
        """The number of exchanges with the PC in a run."""
        return 0

    def check_room(self, family: str, settings: Any) -> None:
        """Raises ValueError, one line, for settings that a client of `family` cannot run."""
        return

    def derive(self, figures: Mapping[str, float], settings: Any) -> dict[str, float]:
        """Add the figures that follow from others, such as the headline; also used for published figures."""
        return dict(figures)

    def expected(self, result: Mapping[str, Any], settings: Any) -> Mapping[str, Any]:
        """A client's result without an error that the settings ask for; `check` reports if it is the one."""
        return result

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> Sequence[Timed]:
        """The measured intervals of a run, in order and without overlap; an emulated row's time is attributed to each.

        `result` and `sessions` have passed `check`.
        """
        return ()

    def spent(self, intervals: Sequence[Spent], settings: Any) -> dict[str, float]:
        """Further figures of a row with attributed time."""
        return {}

    def simulated(self, counters: Mapping[str, float], figures: Mapping[str, float], settings: Any) -> dict[str, float]:
        """Further figures from an emulated board's counters."""
        return {}

    def alternatives(self, settings: Any) -> Mapping[str, tuple[str, WorkloadSettings]]:
        """Settings whose gain `explain --what-if` measures, each with its title; the headline means the same in all."""
        return {}

    def equipment(self, settings: Any) -> Mapping[str, Any]:
        """The parts that an emulated board needs, as in `EmulatedConfig`; on a real board a person wires them."""
        return {}

    def libraries(self, family: str, settings: Any) -> Sequence[str]:
        """The pinned libraries of `clients/` that the body needs on a board of `family`. Raises ValueError."""
        return ()

    def files(self, family: str, settings: Any) -> Mapping[str, bytes]:
        """Further files of the body, by path on the board, such as a root certificate."""
        return {}

    @property
    def entry(self) -> str:
        """The function of the body."""
        return self.name

    @property
    def folder(self) -> Path:
        return Path(inspect.getfile(type(self))).parent

    @property
    def published(self) -> tuple[PublishedSource, ...]:
        """Figures on silicon that others published. Raises PortbenchError."""
        return read_published(self.folder)

    def body(self, language: str) -> Path | None:
        """The file that the board runs; None if the workload has none in that language."""
        names = [f"{language}.py", *(["python.py"] if language in _PYTHONS else [])]
        return next((path for name in names if (path := self.folder / name).is_file()), None)

    def __reduce__(self) -> tuple[Callable[..., Workload], tuple[str, ...]]:
        """In another process it is the one of its name there."""
        from portbench.workloads.registry import workload

        return workload, (self.name,)
