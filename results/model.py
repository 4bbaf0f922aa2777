"""What a run file holds. Times are in the unit that the field's name ends with."""

from __future__ import annotations

import math
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION: Final = 1

_Count = Annotated[int, Field(ge=0)]
_Microseconds = Annotated[int | float, Field(ge=0, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Where(StrEnum):
    """On what a row was measured; rows of different kinds are never ranked together."""

    SILICON = "silicon"
    EMULATED = "emulated"
    HOSTED = "hosted"


class Status(StrEnum):
    """How a row ended."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"


class Settings(_Model):
    """What a row ran with. None: not applicable, or not known."""

    spi_hz_asked: _Count | None = None
    spi_hz_actual: _Count | None = None
    intn: bool | None = None
    """Whether the driver uses the W5500's interrupt pin."""
    address_mode: Literal["dhcp", "static"] | None = None
    turnaround_us: _Microseconds | None = None
    """Time that the PC takes from a message's arrival to its answer: as simulated, or as measured."""


class Published(_Model):
    """Silicon figures that somebody published for this firmware with these settings."""

    total_s: Annotated[list[_Positive], Field(min_length=1)]
    """One entry per run."""
    messages: Annotated[int, Field(gt=0)]
    """Messages per run."""
    source: _Text


class Sim(_Model):
    """Of an emulated row: what the emulation took and did."""

    host_s: Annotated[float, Field(ge=0)] | None = None
    """Seconds that this PC took; differs from run to run."""
    flash_sha256: _Hash | None = None
    """Of the flash content when the run had ended."""
    counters: dict[str, int | float] = {}
    """Simulated counts and times, such as SPI bytes or chip selects."""


class Row(_Model):
    """One run of one runtime with one set of settings."""

    runtime: _Text
    """Catalogue id."""
    family: _Text
    version: str
    """As the firmware reports it; empty when it never got that far."""
    where: Where
    status: Status
    reason: str | None = None
    """One line that says why a row is skipped or failed."""
    board: str | None = None
    profile: str | None = None
    """Name of the settings in the catalogue, such as as-published or tuned."""
    run_index: _Count = 0
    image_file: str | None = None
    image_sha256: _Hash | None = None
    settings: Settings = Settings()
    messages: _Count = 0
    """Messages answered."""
    messages_asked: _Count | None = None
    total_us: _Microseconds | None = None
    """From just before the first send to just after the last answer, on the client's clock."""
    messages_per_s: _Positive | None = None
    """Worked out from `messages` and `total_us` where it is not given."""
    round_trip_us: list[_Microseconds] = []
    """One entry per message, in order."""
    ready_us: _Microseconds | None = None
    """From the client's start to its connection."""
    note: str | None = None
    """What a reader of the table should know about this row."""
    published: Published | None = None
    console_tail: list[str] = []
    log: str | None = None
    """File with the whole console."""
    sim: Sim | None = None

    @model_validator(mode="before")
    @classmethod
    def _work_out_rate(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("messages_per_s") is None:
            messages, total_us = _positive(data.get("messages")), _positive(data.get("total_us"))
            if messages is not None and total_us is not None:
                return data | {"messages_per_s": messages * 1e6 / total_us}
        return data

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.status is not Status.MEASURED:
            if not self.reason or "\n" in self.reason:
                raise ValueError(f"a {self.status} row needs a reason of one line")
            return self
        if self.messages == 0 or not self.total_us or self.messages_per_s is None:
            raise ValueError("a measured row needs messages and total_us above 0")
        if len(self.round_trip_us) != self.messages:
            raise ValueError(f"{len(self.round_trip_us)} round trips for {self.messages} messages")
        if not math.isclose(self.messages_per_s, self.messages * 1e6 / self.total_us, rel_tol=1e-3):
            raise ValueError("messages_per_s is not messages / total_us")
        return self

    def simulated_figures(self) -> dict[str, Any]:
        """Everything that a second run must repeat exactly if this row is emulated."""
        figures = self.model_dump(mode="json", exclude={"log", "console_tail", "published", "note"})
        if self.sim is not None:
            figures["sim"].pop("host_s")
        return figures


class Machine(_Model):
    """The PC that measured."""

    system: str
    release: str
    architecture: str
    processor: str
    cores: _Count
    python: str


class Git(_Model):
    """State of the project's work tree."""

    revision: _Text
    dirty: bool


class RunFile(_Model):
    """One run of the harness: `results/runs/<UTC time>.json`."""

    schema_version: Literal[1] = SCHEMA_VERSION
    started_utc: AwareDatetime
    finished_utc: AwareDatetime | None = None
    """None while it runs, and for ever if it was interrupted."""
    machine: Machine
    tools: dict[str, str] = {}
    """Version by package name."""
    git: Git | None = None
    rows: list[Row] = []

    def with_row(self, row: Row) -> RunFile:
        """The same run with one row more."""
        return self.model_copy(update={"rows": [*self.rows, row]})

    def finished(self, when_utc: datetime) -> RunFile:
        """The same run, ended."""
        return self.model_copy(update={"finished_utc": when_utc})


def _positive(value: Any) -> float | None:
    """`value` if it is a number that a rate can be made of."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
        return None
    return float(value)
