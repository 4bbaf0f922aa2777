"""The contract of a workload: its question, settings and figures.

Models: TechEmpower's `toolset/test_types/`, MicroPython's `tests/perf_bench/benchrun.py`.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from portbench.errors import PortbenchError, first_complaint
from portbench.toml_files import parse_toml, read_text
from portbench.workloads.conversation import Announcement, Conversation, Datagrams, Requests
from portbench.workloads.load_generator import LoadGenerator
from portbench.workloads.session import Session

PUBLISHED_FILE: Final = "published.toml"

_Text = Annotated[str, Field(min_length=1)]
_Figure = Annotated[int | float, Field(gt=0, le=10**24, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class PublishedFirmware(_Part):
    """Published figures of one firmware with one profile."""

    runtime: _Text
    family: _Text
    version: _Text
    profile: _Text
    figures: Annotated[dict[str, Annotated[list[_Figure], Field(min_length=1)]], Field(min_length=1)]
    stated: dict[str, _Figure] = {}
    cause: _Text | None = None

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of the version, to compare versions."""
        return tuple(map(int, re.findall(r"\d+", self.version)))


class PublishedSource(_Part):
    """Published figures on silicon, with settings and firmware: an entry of `published.toml` in a workload's folder.

    [[source]]
    who = "..."                     # with the date
    url = "https://..."
    board = "W5500_EVB_PICO"        # its name in boards/definitions
    settings = { messages = 1000 }  # settings that differ from the defaults

    [[source.firmware]]
    runtime = "micropython-1.20.0"  # its name in the catalogue, even without an available image
    family = "micropython"
    version = "1.20.0"
    profile = "as-published"
    figures = { total_us = [258_900_000, 259_000_000] }  # one entry per run, named as in the workload
    stated = { messages_per_s = 3.9 }                    # rounded as in the source
    cause = "data waits for a timer"                     # of the figure, in a few words, where it is known
    """

    who: _Text
    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    board: _Text
    settings: dict[str, Any] = {}
    firmware: Annotated[list[PublishedFirmware], Field(min_length=1)]


class _File(_Part):
    source: list[PublishedSource] = []


@cache
def read_published(folder: Path) -> tuple[PublishedSource, ...]:
    """The published figures of the workload in `folder`; none without the file. Raises PortbenchError."""
    path = folder / PUBLISHED_FILE
    if not path.exists():
        return ()
    try:
        return tuple(_File.model_validate(parse_toml(read_text(path), path)).source)
    except ValidationError as error:
        raise PortbenchError(f"{path}: {first_complaint(error)}") from error


_PYTHONS: Final = ("micropython", "circuitpython")


class BadResult(PortbenchError):
    """A client's result without valid figures: one line with the reason."""


class Readiness(StrEnum):
    """The state of the board before the workload's body runs; the name of the client's script in clients/."""

    BOOTED = "booted"
    """The runtime runs, without a network."""
    CONNECTED = "connected"
    """The board has link and address, and a TCP connection to the PC's server is open."""
    LISTENING = "listening"
    """The board has link and address, and has announced the TCP port on which it listens."""


class WorkloadSettings(BaseModel):
    """The settings of a workload, with defaults and ranges.

    Each field is also an option of the same name, a key of the catalogue, and a part of the deployed configuration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class WorkloadResult(BaseModel):
    """The part of a client's result that a workload reads. No value is converted."""

    model_config = ConfigDict(strict=True, defer_build=True)

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Raises BadResult with the first fault."""
        try:
            return cls.model_validate({key: result[key] for key in cls.model_fields if key in result})
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])[1:]
            if detail["type"] == "missing":
                raise BadResult(f"the client's {place} is missing") from None
            value = repr(detail["input"])
            value = value if len(value) <= 60 else value[:57] + "..."
            wanted = detail["msg"].removeprefix("Input should be ")
            raise BadResult(f"the client's {place} is {value}, not {wanted}") from None


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
    """The figure that ranks rows; `name` is its key in a row's figures."""

    name: str
    unit: str
    better: Literal["higher", "lower"] = "higher"

    def factor(self, value: float, other: float) -> float:
        """The factor by which `value` is better than `other`."""
        return value / other if self.better == "higher" else other / value


@dataclass(frozen=True)
class Column:
    """A column of the workload's table: the median of a figure over the runs, or a statistic of all runs' samples."""

    title: str
    of: str
    """A key of the figures, or of the samples if there is a `statistic`."""
    statistic: Literal["median", "p99", "min", "max"] | None = None
    scale: float = 1.0
    """The factor from the value to the unit of the title."""


@dataclass(frozen=True)
class Measurement:
    """The result of a run: `figures` with one number each, `samples` with many, in order. Names include the units."""

    figures: dict[str, float]
    samples: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """An interval that a client measured on its own clock, or that the PC measured.

    `exchange`: the number, from 0, of the one exchange with the PC within the interval; None without one. `start_us`:
    its start on the PC's clock, if the PC measured it.
    """

    name: str
    duration_us: float
    exchange: int | None = None
    start_us: float | None = None


@dataclass(frozen=True)
class Spent:
    """The activity of an emulated board in an interval of `Workload.timed`.

    `waits`: the share, 0 to 1, in which the board slept or waited for the network or the PC.
    """

    name: str
    waits: float
    spi_bytes: int


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
    readiness: ClassVar[Readiness]
    headline: ClassVar[Metric]
    reading: ClassVar[str] = ""
    """One paragraph for the results page: the meaning of headline and columns."""
    columns: ClassVar[tuple[Column, ...]] = ()
    comparable: ClassVar[tuple[str, ...]] = ()
    """Figures to compare with published ones that lack the headline, the best first."""
    settings_type: ClassVar[type[WorkloadSettings]]
    boards_only: ClassVar[bool] = False
    """Ports on a PC do not run this workload."""
    by_default: ClassVar[bool] = False
    """Measured if no workload is named."""
    drifting: ClassVar[str | None] = None
    """The samples whose halves are compared to detect a drifting run."""
    secured: ClassVar[bool] = False
    """The PC's server decrypts a connection that begins with a TLS handshake, and serves others as they are. The client
    chooses the server's certificate by name: `portbench.certificates.server_name`."""
    timed_by_pc: ClassVar[bool] = False
    """The PC alone can time a silent board, a foreign image. The workload has `measure_session`, or, if the board
    listens, `foreign_port`, `foreign_load_generator` and `measure_calls`."""
    foreign_port: ClassVar[int] = 0
    """TCP port at which the PC calls a foreign image."""
    patience_us: ClassVar[float | None] = None
    """The longest silence of a connected board in simulated time, after which it hangs; None: no limit."""
    exchange: ClassVar[str] = "exchange"
    """The noun for one exchange with the PC."""
    parts: ClassVar[tuple[str, ...]] = ()
    """Figures of the headline's kind that `compare` judges one by one, beside the headline."""
    across: ClassVar[str | None] = None
    """The setting whose values are the columns of a further table, with the runtimes as rows."""

    def __reduce__(self) -> tuple[Callable[..., Workload], tuple[str, ...]]:
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
        """Figures on silicon that others published. Raises PortbenchError."""
        return read_published(self.folder)

    def body(self, language: str) -> Path | None:
        """The file that the board runs; None if the workload has none in that language."""
        names = [f"{language}.py"]
        if language in _PYTHONS:
            names.append("python.py")
        return self._first(*names)

    def native(self, mcu: str = "RP2040") -> Path | None:
        """The image in C for boards with this microcontroller; None if the workload has none."""
        return self._first("native.uf2" if mcu == "RP2040" else f"native_{mcu.lower()}.uf2")

    def _first(self, *names: str) -> Path | None:
        return next((path for name in names if (path := self.folder / name).is_file()), None)

    def quick(self) -> WorkloadSettings:
        """Settings of a short but complete run, for traces, soaks and tests."""
        return self.settings_type()

    @abstractmethod
    def check(self, result: Mapping[str, Any], settings: Any, sessions: Sequence[Session] = ()) -> Measurement:
        """The figures of a client's result and of the finished `sessions`, in order. Raises BadResult if impossible."""

    def expected(self, result: Mapping[str, Any], settings: Any) -> Mapping[str, Any]:
        """A client's result without an error that the settings ask for; `check` tells whether it is the one."""
        return result

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> Sequence[Timed]:
        """The measured intervals of a run, in order and without overlap; an emulated row's time is attributed to each.

        `result` and `sessions` have passed `check`.
        """
        return ()

    def spent(self, intervals: Sequence[Spent], settings: Any) -> dict[str, float]:
        """Further figures of a row with attributed time."""
        return {}

    def measure_session(self, session: Session, settings: Any) -> Measurement:
        """The figures of a silent client in a `session` with its `foreign_exchanges`. Raises BadResult."""
        raise NotImplementedError(f"{self.name}: cannot be timed by the PC")

    def foreign_lacks(self, image: bytes, settings: Any) -> str | None:
        """Why a foreign image with that content cannot play, as one clause; None if the content does not tell."""
        return None

    def foreign_load_generator(self, settings: Any, max_bytes: int) -> LoadGenerator:
        """How the PC connects to a foreign image that listens."""
        raise NotImplementedError(f"{self.name}: the PC does not connect to foreign images in it")

    def foreign_requests(self, settings: Any) -> Requests | None:
        """The datagrams by which the PC calls a foreign image, in place of connections."""
        return None

    def measure_calls(self, sessions: Sequence[Session], settings: Any) -> Measurement:
        """The figures of a foreign image from the PC's records of all connections to it. Raises BadResult."""
        raise NotImplementedError(f"{self.name}: cannot be timed by the PC")

    def derive(self, figures: Mapping[str, float], settings: Any) -> dict[str, float]:
        """Add the figures that follow from others, such as the headline; also used for published figures."""
        return dict(figures)

    def exchanges(self, settings: Any) -> int:
        """The number of exchanges with the PC in a run."""
        return 0

    def foreign_exchanges(self, settings: Any) -> int:
        """The same of a foreign image, on one connection."""
        return self.exchanges(settings)

    def conversation(self, max_bytes: int) -> Conversation:
        """The PC's side of one connection that the board opens; it keeps at most `max_bytes`.

        If the board listens, this is the connection on which a client without a console announces its port.
        """
        if self.readiness is Readiness.LISTENING:
            return Announcement(max_bytes)
        raise NotImplementedError(f"{self.name}: the PC has no server in it")

    def service(self, max_bytes: int) -> Callable[[], Conversation]:
        """What makes the conversations of one server, from its start to its end; they may share state."""
        return lambda: self.conversation(max_bytes)

    def datagrams(self) -> Datagrams | None:
        """The PC's UDP port beside a conversation; None: it has none."""
        return None

    def load_generator(self, settings: Any, max_bytes: int) -> LoadGenerator:
        """How the PC connects to a listening board; a connection keeps at most `max_bytes`."""
        raise NotImplementedError(f"{self.name}: the PC does not connect to the board in it")

    def ideal_client(self, exchanges: int) -> Iterable[tuple[bytes, bytes]]:
        """The bytes of a correct client, with the expected answers, to measure the share of this PC."""
        return ()

    def serving(self, settings: Any, family: str) -> tuple[Workload, WorkloadSettings] | None:
        """The part of a second board, to which the first connects instead of the PC; None without one.

        `family`: the family of the first board's client.
        """
        return None

    def reported(self, served: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result of a client without a console, from the result of the partner. Raises BadResult."""
        raise NotImplementedError(f"{self.name}: no board serves in it")

    def check_room(self, family: str, settings: Any) -> None:
        """Raises ValueError, one line, for settings that a client of `family` cannot run."""
        return

    def equipment(self, settings: Any) -> Mapping[str, Any]:
        """The parts that an emulated board needs, as in `EmulatedConfig`; on a real board a person wires them."""
        return {}

    def libraries(self, family: str, settings: Any) -> Sequence[str]:
        """The pinned libraries of `clients/` that the body needs on a board of `family`. Raises ValueError."""
        return ()

    def files(self, family: str, settings: Any) -> Mapping[str, bytes]:
        """Further files of the body, by path on the board, such as a root certificate."""
        return {}

    def simulated(self, counters: Mapping[str, float], figures: Mapping[str, float], settings: Any) -> dict[str, float]:
        """Further figures from an emulated board's counters."""
        return {}

    def alternatives(self, settings: Any) -> Mapping[str, tuple[str, WorkloadSettings]]:
        """Settings whose gain `explain --what-if` measures, each with its title; the headline means the same in all."""
        return {}

    def native_count(self, settings: Any) -> int:
        """The count in the native client's configuration block."""
        raise NotImplementedError(f"{self.name}: has no native client")

    def native_settings(self, settings: Any) -> Sequence[int]:
        """Further settings of the native body, as numbers, in the order of its C source."""
        return ()
