"""The model of a run file. Times are in the unit that the field's name ends with."""

import json
import statistics
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from portbench.console import shown
from portbench.results.attribution import Attribution, Line, Text
from portbench.where import Where

SCHEMA_VERSION: Final = 2
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$"
"""Pattern of a run's name."""

_MOST: Final = 10**24
"""The largest figure, in any unit. Arithmetic with larger ones would overflow."""
_Count = Annotated[int, Field(ge=0, le=_MOST)]
_Microseconds = Annotated[int | float, Field(ge=0, le=_MOST)]
_Figure = Annotated[int | float, Field(ge=-_MOST, le=_MOST)]
_Positive = Annotated[float, Field(gt=0, le=_MOST)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

MOST_FRAMES: Final = 1000
"""SPI frames that a waveform keeps."""
_MOST_NS: Final = 1 << 53
_Ns = Annotated[int, Field(ge=0, le=_MOST_NS)]


TimedBy = Literal["board", "pc"]
_NOT_SIMULATED: Final = frozenset(
    {"log", "console_tail", "published", "note", "build", "offers", "image_url"}
    | {"attribution", "waveform", "what_if", "layouts"}
)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Status(StrEnum):
    """Result of an attempt to measure a row."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    """Something is missing on this PC, such as an image."""
    UNSUPPORTED = "unsupported"
    """The runtime lacks what the workload needs."""
    FAILED = "failed"


class Conditions(_Model):
    """Conditions of a row. None: not applicable, or not known."""

    spi_hz_asked: _Count | None = None
    spi_hz_actual: _Count | None = None
    intn: bool | None = None
    """True if the driver uses the Ethernet chip's interrupt pin."""
    address_mode: Literal["dhcp", "static"] | None = None
    turnaround_us: _Microseconds | None = None
    """Time that the PC takes from an exchange's arrival to its answer: as simulated, or as measured."""
    phy_link_delay_us: _Microseconds | None = None
    """Time from the chip's reset to link up on an emulated board, if not the usual 1.5 s."""
    access_point: dict[Line, StrictBool | StrictInt | Line] | None = None
    """The changed settings of the access point of an emulated row on a radio."""


def without_bridged(row: Any) -> Any:
    """Read `bridged`, which earlier files have: an emulated row with a real PC counts that PC's time, and is hosted."""
    conditions = row.get("conditions") if isinstance(row, dict) else None
    if not isinstance(conditions, dict) or "bridged" not in conditions:
        return row
    # A row of two emulated boards has no PC, and was marked by mistake.
    real = conditions["bridged"] and row.get("sim") is None and row.get("seed") is None
    kept = {name: value for name, value in conditions.items() if name != "bridged"}
    return row | {"conditions": kept} | ({"where": Where.HOSTED.value} if real else {})


class Headline(_Model):
    """The figure that ranks rows of a workload: a key of `figures`."""

    name: Text
    unit: Text
    better: Literal["higher", "lower"] = "higher"


class Published(_Model):
    """Published figures of this firmware with this profile on silicon."""

    figure: Text | None = None
    """The key of the figure that it is; None: the headline."""
    values: Annotated[list[_Positive], Field(min_length=1)]
    """One entry per run."""
    stated: _Positive | None = None
    """Figure as the source itself rounds it."""
    source: Text
    url: Text | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)


class Offers(_Model):
    """Features of a firmware beside its speed. None: not known."""

    released: date
    """Date of this firmware."""
    maintained: bool
    """True if newer releases are still made."""
    python: Text | None = None
    """Which Python it is, of which release: `MicroPython 1.20`."""
    tcp_sockets: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """TCP connections that can be open at once."""
    tls: bool | None = None
    sources: Annotated[list[Text], Field(min_length=1)]


class Sim(_Model):
    """Costs and counters of an emulated row."""

    host_s: Annotated[float, Field(ge=0, le=_MOST)] | None = None
    """CPU time of this PC in s; differs from run to run."""
    flash_sha256: _Hash | None = None
    """Hash of the flash content after the run."""
    seed: _Count | None = None
    """The seed of the run's jitter; None: nothing varied, and every run is the same."""
    room: dict[Line, _Figure] = {}
    """The drawn values of the surroundings."""
    counters: dict[Line, _Figure] = {}
    """Simulated counts and times, such as SPI bytes or chip selects."""


class SpiFrames(_Model):
    """The SPI frames of an exchange in the order of their time; every list has an entry for each."""

    start_ns: list[_Ns] = []
    duration_ns: list[_Ns] = []
    name: list[Text] = []
    """The register or buffer, by its name in the chip's datasheet."""
    write: list[bool] = []
    wire_bytes: list[_Ns] = []

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        columns = (self.duration_ns, self.name, self.write, self.wire_bytes)
        if wrong := {len(column) for column in columns} - {len(self.start_ns)}:
            raise ValueError(f"{len(self.start_ns)} SPI frames, but a list of {max(wrong)} entries")
        return self


class CableFrame(_Model):
    """An Ethernet frame: its time on the cable."""

    start_ns: _Ns
    duration_ns: _Ns
    sender: Literal["board", "pc"]
    length_bytes: _Ns


class IntnLevel(_Model):
    """INTn has this level from here on."""

    at_ns: _Ns
    high: bool


class Waveform(_Model):
    """One exchange of a row on its wires. Times are nanoseconds from its start.

    An exchange begins when the PC has received the one before it, and ends when the PC has received this one.
    """

    version: Literal[1] = 1
    noun: Text
    """The workload's word for an exchange."""
    number: Annotated[int, Field(ge=1, le=_MOST_NS)]
    duration_ns: Annotated[int, Field(ge=1, le=_MOST_NS)]
    spi: SpiFrames = Field(default_factory=SpiFrames)
    spi_left_out: _Ns = 0
    """SPI frames beyond `MOST_FRAMES`."""
    cable: list[CableFrame] = []
    intn: list[IntnLevel] = []


class WhatIf(_Model):
    """A changed condition and the row's figure under it, from a run with few exchanges."""

    name: Text
    title: Text
    value: Annotated[float, Field(gt=0)]
    """The headline figure."""
    times: Annotated[float, Field(gt=0)]
    """The figure relative to that of the unchanged row, with as few exchanges; above 1 is better."""


class Layouts(_Model):
    """The figures of a row by where its flash lies in the cache, each from a run in which nothing varies."""

    linked: dict[Line, _Figure]
    """Figures with the image as it was linked."""
    free: dict[Line, _Figure]
    """Figures as linked, with flash cache misses that take no time."""
    drawn: Annotated[list[dict[Line, _Figure]], Field(min_length=2)]
    """Figures of other layouts; those of one number are alike in all rows."""


class Row(_Model):
    """One run of one workload on one runtime with one profile."""

    workload: Text
    runtime: Text
    """Catalogue id, or one made of the file's name."""
    build: Text
    """Distinguishes images of one runtime: the file's name with its folder's, or the package of a hosted port."""
    family: Text
    version: Line
    """The version that the firmware reports; empty when it never got that far."""
    where: Where
    timed_by: TimedBy = "board"
    """The clock of the figures: the client's on the board, or the PC's for an image that reports nothing."""
    status: Status
    reason: Line | None = None
    """One line that says why a row is not measured."""
    board: Line | None = None
    profile: Line | None = None
    """The profile's name in the catalogue; None where profiles make no difference to the workload."""
    run_index: _Count = 0
    image_file: Line | None = None
    image_sha256: _Hash | None = None
    settings: dict[Line, bool | _Figure | Line] = {}
    """Settings of the workload."""
    libraries: dict[Line, Line] = {}
    """The user's libraries (`--library`): version and hash by name."""
    conditions: Conditions = Field(default_factory=Conditions)
    headline: Headline | None = None
    figures: dict[Line, _Figure] = {}
    """One number each; units are in the names. `ready_us`: from the client's start to where the workload begins."""
    samples: dict[Line, list[_Figure]] = {}
    """Many numbers each, in the order in which they were taken."""
    line: Line | None = None
    """The line of code with which the client brought its network up. The profile decides it."""
    offers: Offers | None = None
    """Features that the catalogue lists."""
    image_url: Annotated[str, Field(pattern=r"^https?://"), AfterValidator(shown)] | None = None
    """Address of the image, for a row that is skipped without it."""
    note: Line | None = None
    """A remark about this row for readers of the table."""
    published: Published | None = None
    console_tail: list[Line] = []
    log: Line | None = None
    """File with the whole console, relative to the results' folder."""
    sim: Sim | None = None
    lost: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of a hosted row's time on the PC in which its program waited for a processor or was
    stopped. None: not known."""
    attribution: Attribution | None = None
    """Present in the first run of an emulated row that was measured with `--attribute`."""
    waveform: Waveform | None = None
    """One exchange on the network chip's wires, also with `--attribute`."""
    what_if: list[WhatIf] = []
    """With `--what-if`, in the first of its runs."""
    layouts: Layouts | None = None
    """With `--layouts`, in the first of its runs."""

    @property
    def value(self) -> float | None:
        """The headline figure."""
        return None if self.headline is None else self.figures.get(self.headline.name)

    @property
    def is_exact(self) -> bool:
        """True if another run under the same conditions gives the same figures to the last digit."""
        return self.where is Where.EMULATED and self.sim is not None and self.sim.seed is None

    @property
    def name(self) -> str:
        """`micropython-1.26.0 tuned`, with the user's libraries."""
        own = (f"{name} {identity}" for name, identity in self.libraries.items())
        return " ".join(filter(None, (self.runtime, self.profile, *own)))

    @model_validator(mode="before")
    @classmethod
    def _read(cls, row: Any) -> Any:
        return without_bridged(row)

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.status is not Status.MEASURED:
            if not self.reason:
                raise ValueError(f"a {self.status} row needs a reason")
        elif self.headline is None or not self.value or self.value <= 0:
            raise ValueError("a measured row needs a headline figure above 0")
        return self

    def simulated_figures(self) -> dict[str, Any]:
        """All values that a second run of an emulated row must repeat exactly."""
        figures = self.model_dump(mode="json", exclude=set(_NOT_SIMULATED))
        if self.sim is not None:
            figures["sim"].pop("host_s")
        return figures


class Machine(_Model):
    """The PC that measured."""

    system: Line
    release: Line
    architecture: Line
    processor: Line
    cores: _Count
    python: Line


class Git(_Model):
    """State of the project's work tree."""

    revision: Text
    dirty: bool


class RunFile(_Model):
    """One run of the harness: `results/runs/<UTC time>.jsonl`."""

    schema_version: Literal[2] = SCHEMA_VERSION
    started_utc: AwareDatetime
    finished_utc: AwareDatetime | None = None
    """None while it runs, and of an interrupted run."""
    name: Annotated[str, Field(pattern=NAME)] | None = None
    """Its name, given by the user."""
    machine: Machine
    tools: dict[Line, Line] = {}
    """Version by package name."""
    git: Git | None = None
    rows: list[Row] = []


def json_schema() -> str:
    """JSON Schema of a run file: the content of docs/run-file.schema.json."""
    schema = RunFile.model_json_schema(mode="validation")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=1) + "\n"
