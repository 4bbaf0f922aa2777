"""The contract of a workload: what it asks, how it is set, and what its figures are.

Models: TechEmpower's `toolset/test_types/`, MicroPython's `tests/perf_bench/benchrun.py`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from portbench.errors import PortbenchError
from portbench.workloads.conversation import Conversation, Datagrams
from portbench.workloads.load_generator import LoadGenerator
from portbench.workloads.published import PublishedSource, read_published
from portbench.workloads.report import Announcement
from portbench.workloads.session import Session

_PYTHONS: Final = ("micropython", "circuitpython")


class BadResult(PortbenchError):
    """A client's result that holds no figures which can be kept. One line that says why."""


class Readiness(StrEnum):
    """How far a client brings its board before the workload's body runs; the name of its script in clients/."""

    BOOTED = "booted"
    """The runtime runs; no network is touched."""
    CONNECTED = "connected"
    """Link and address are there, and a TCP connection to the PC's server is open."""
    LISTENING = "listening"
    """Link and address are there, and the client listens on a TCP port that the PC has been told."""


class WorkloadSettings(BaseModel):
    """What a workload can be told, with defaults and ranges.

    Every field is by itself an option of the same name, a key of the catalogue, and part of the deployed configuration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def number_list(least: int, most: int, length: int = 10) -> AfterValidator:
    """The check of a setting with different whole numbers, separated by commas."""

    def check(text: str) -> str:
        numbers = text.split(",")
        digits = len(str(most))
        whole = all(each.isascii() and each.isdigit() and len(each) <= digits for each in numbers)
        if not whole or not all(least <= int(each) <= most for each in numbers):
            raise ValueError(f"{text!r} is not a list of numbers from {least} to {most}; separate them with commas")
        if len(set(map(int, numbers))) < len(numbers) or len(numbers) > length:
            raise ValueError(f"{text!r} has a number twice, or more than {length}")
        return text

    return AfterValidator(check)


def each_number(text: str) -> list[int]:
    """The numbers of a setting that `number_list` has checked."""
    return [int(part) for part in text.split(",")]


@dataclass(frozen=True)
class Metric:
    """The figure that ranks rows. `name` is a key of the row's figures."""

    name: str
    unit: str
    better: Literal["higher", "lower"] = "higher"

    def factor(self, value: float, other: float) -> float:
        """How many times better `value` is than `other`."""
        return value / other if self.better == "higher" else other / value


@dataclass(frozen=True)
class Column:
    """A column of the workload's table: the median of a figure over the runs, or a statistic of all runs' samples."""

    title: str
    of: str
    """A key of the figures, or of the samples where `statistic` is given."""
    statistic: Literal["median", "p99", "min", "max"] | None = None
    scale: float = 1.0
    """The factor from the value to the unit of the title."""


@dataclass(frozen=True)
class Measurement:
    """What a run gave: `figures` are one number each, `samples` many, in the order in which they were taken.

    Units are in the names.
    """

    figures: dict[str, float]
    samples: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """A stretch of time that a client took on its own clock, between two readings of it; or that the PC timed.

    `exchange`: the number, from 0, of the one exchange with the PC that lies in it; None where there is none.
    `start_us`: when it began on the PC's clock, where the PC timed it.
    """

    name: str
    duration_us: float
    exchange: int | None = None
    start_us: float | None = None


@dataclass(frozen=True)
class Spent:
    """What an emulated board did in a stretch that `Workload.timed` named.

    `waits`: the part of it, 0 to 1, in which the board waited: asleep, or for the network and the PC.
    """

    name: str
    waits: float
    spi_bytes: int


class Workload(ABC):
    """One question that is asked of every port.

    Its folder holds this class (`workload.py`), a body for each language (`micropython.py`, `circuitpython.py`, or one
    `python.py` for both: a function that is named as the folder; its parameters are the open connection or the
    listening socket, where there is one, and settings by name), `native.uf2` where there is one in C, a README, tests.
    """

    name: ClassVar[str]
    """As the folder's."""
    title: ClassVar[str]
    readiness: ClassVar[Readiness]
    headline: ClassVar[Metric]
    reading: ClassVar[str] = ""
    """One paragraph for the results page: the meaning of headline and columns."""
    columns: ClassVar[tuple[Column, ...]] = ()
    comparable: ClassVar[tuple[str, ...]] = ()
    """Figures that published ones are laid beside where these do not give the headline, the best first."""
    settings_type: ClassVar[type[WorkloadSettings]]
    boards_only: ClassVar[bool] = False
    """A port that runs on a PC has no answer to it."""
    by_default: ClassVar[bool] = False
    """It is measured where no workload is named."""
    drifting: ClassVar[str | None] = None
    """The samples whose halves are compared to see whether a run drifts."""
    timed_by_pc: ClassVar[bool] = False
    """The PC alone can time a board that tells nothing, a foreign image: `measure_session` is there; where the board
    listens, `foreign_port`, `foreign_load_generator` and `measure_calls` are."""
    foreign_port: ClassVar[int] = 0
    """TCP port at which the PC calls a foreign image."""
    patience_us: ClassVar[float | None] = None
    """Simulated time without a byte of a board that has connected, after which it hangs; None: it may take its time."""
    exchange: ClassVar[str] = "exchange"
    """What people call one exchange with the PC."""
    across: ClassVar[str | None] = None
    """The setting whose values stand across a further table, with the runtimes down its side."""

    def __reduce__(self) -> tuple[Callable[[str], Workload], tuple[str]]:
        """In another process it is the one of its name there."""
        from portbench.workloads.registry import workload

        return workload, (self.name,)

    @property
    def entry(self) -> str:
        """The function of the body."""
        return self.name

    @property
    def folder(self) -> Path:
        return Path(inspect.getfile(type(self))).parent

    @property
    def published(self) -> tuple[PublishedSource, ...]:
        """What others published of it on silicon. Raises PortbenchError."""
        return read_published(self.folder)

    def body(self, language: str) -> Path | None:
        """The file that the board runs, None where the workload has none in that language."""
        names = ["native.uf2" if language == "native" else f"{language}.py"]
        if language in _PYTHONS:
            names.append("python.py")
        return next((path for name in names if (path := self.folder / name).is_file()), None)

    def quick(self) -> WorkloadSettings:
        """Settings of the shortest run that still shows everything: for traces, soaks and tests."""
        return self.settings_type()

    @abstractmethod
    def check(self, result: Mapping[str, Any], settings: Any, sessions: Sequence[Session] = ()) -> Measurement:
        """The figures in a client's result, and in what the PC kept of the run's connections.

        `sessions`: those that have ended, in their order. Raises BadResult for what cannot be.
        """

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> Sequence[Timed]:
        """What a client's result, or what the PC kept, says that was timed, in the order of time, each after the one
        before it.

        `result` and `sessions` have passed `check`. An emulated row's time is attributed span by span.
        """
        return ()

    def spent(self, stretches: Sequence[Spent], settings: Any) -> dict[str, float]:
        """Further figures of a row whose time is attributed."""
        return {}

    def measure_session(self, session: Session, settings: Any) -> Measurement:
        """The figures of a client that tells nothing, by what the PC kept of its connection.

        `session` has at least `exchanges(settings)`. Raises BadResult for what cannot be.
        """
        raise NotImplementedError(f"{self.name}: cannot be timed by the PC")

    def foreign_load_generator(self, settings: Any, max_bytes: int) -> LoadGenerator:
        """How the PC connects to a foreign image that listens, as `caller` to one of our clients."""
        raise NotImplementedError(f"{self.name}: the PC calls no foreign image in it")

    def measure_calls(self, sessions: Sequence[Session], settings: Any) -> Measurement:
        """The figures of a foreign image, by what the PC kept of all connections that it opened to it.

        Raises BadResult for what cannot be.
        """
        raise NotImplementedError(f"{self.name}: cannot be timed by the PC")

    def derive(self, figures: Mapping[str, float], settings: Any) -> dict[str, float]:
        """Figures that follow from others, the headline among them, as for figures that others published."""
        return dict(figures)

    def exchanges(self, settings: Any) -> int:
        """How many exchanges with the PC a whole run has."""
        return 0

    def conversation(self, max_bytes: int) -> Conversation:
        """The PC's side of one connection that the board opens; at most `max_bytes` are kept of it.

        Of those that listen it is that of a client which has no console to say so on.
        """
        if self.readiness is Readiness.LISTENING:
            return Announcement(max_bytes)
        raise NotImplementedError(f"{self.name}: the PC serves nobody in it")

    def datagrams(self) -> Datagrams | None:
        """What the PC does on UDP beside a conversation; None: nothing listens there."""
        return None

    def load_generator(self, settings: Any, max_bytes: int) -> LoadGenerator:
        """How the PC connects to a board that listens; at most `max_bytes` are kept of a connection."""
        raise NotImplementedError(f"{self.name}: the PC calls nobody in it")

    def ideal_client(self, exchanges: int) -> Iterable[tuple[bytes, bytes]]:
        """What a client without a fault sends, and what it gets for it: shows what this PC alone takes."""
        return ()

    def serving(self, settings: Any, family: str) -> tuple[Workload, WorkloadSettings] | None:
        """What a second board does, to which the first one connects in the place of the PC; None: there is none.

        `family`: of the first one's client.
        """
        return None

    def reported(self, served: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result of a client without a console, in that of the board that served it. Raises BadResult."""
        raise NotImplementedError(f"{self.name}: no board serves in it")

    def check_room(self, family: str, settings: Any) -> None:
        """Raises ValueError, one line, for settings that a device has no memory for. `family`: of its client."""
        return

    def equipment(self, settings: Any) -> Mapping[str, Any]:
        """What an emulated board needs beside itself, as `EmulatedConfig` has it: a hand wires it to a real one."""
        return {}

    def libraries(self, family: str, settings: Any) -> Sequence[str]:
        """Of those that are pinned in `clients/`, what the body needs on a board of that family.

        Raises ValueError, one line, where there is nothing for that family.
        """
        return ()

    def simulated(self, counters: Mapping[str, float], figures: Mapping[str, float], settings: Any) -> dict[str, float]:
        """Further figures that an emulated board's counters give."""
        return {}

    def native_count(self, settings: Any) -> int:
        """What the native client's configuration block has as count."""
        raise NotImplementedError(f"{self.name}: has no native client")

    def native_settings(self, settings: Any) -> Sequence[int]:
        """Further settings of its body: numbers, as its C sources have them."""
        return ()


R = TypeVar("R", bound=BaseModel)


def read_result(model: type[R], result: Mapping[str, Any]) -> R:
    """The part of a client's result that `model` describes. Raises BadResult with the first thing that is wrong."""
    try:
        return model.model_validate({key: result[key] for key in model.model_fields if key in result})
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])[1:]
        if detail["type"] == "missing":
            raise BadResult(f"the client's {place} is missing") from None
        value = repr(detail["input"])
        value = value if len(value) <= 60 else value[:57] + "..."
        wanted = detail["msg"].removeprefix("Input should be ")
        raise BadResult(f"the client's {place} is {value}, not {wanted}") from None
