"""Published figures of real boards: `silicon.toml`, with their sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from portbench.errors import PortbenchError, first_complaint
from portbench.toml_files import parse_toml, read_text

FILE: Final = Path(__file__).with_name("silicon.toml")

Method = Literal["script", "perf_bench", "client", "row", "sends", "guest", "image"]
Relation = Literal["same binary", "same source", "other version", "other conditions"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Script(_Strict):
    """A published program. It is downloaded, not kept here."""

    file: str
    url: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    licence: str


class FigureSet(_Strict):
    """Figures that one author published of one firmware on one board, and how they are measured again.

    `measured_on` names the firmware on that board, `runtime` the same or the nearest of the catalogue, with the method
    `guest` a program of `firmware/avr`, with `image` the file that is built of `built_of`. `relation` says how
    near the figures should be. `same binary`: within 1 %. `same source`: within 3 %, on the published image or a build
    of its tag. `other version`: within the effect of the code's layout in flash, and no difference is a fault. `other
    conditions`: `note` explains the ratio.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    what: str
    source: str
    board: str
    measured_on: str
    runtime: str
    relation: Relation
    unit: str
    method: Method
    scripts: tuple[Script, ...] = ()
    built_of: Annotated[str, Field(pattern=r"^(https://\S+ at [0-9a-f]{40}( with .+)?)?$")] = ""
    """The repository of an image that is not public, its commit, and what else the build takes."""
    profile: str | None = None
    workload: str | None = None
    settings: tuple[str, ...] = ()
    """Settings of a row or a client, as after `-s`: `spi_hz=10M`. A client takes `turnaround_us` alone. With the method
    `sends` the conditions of its loop: `spi_mhz=10`."""
    server: Annotated[str, Field(pattern=r"^([0-9.]+:[0-9]+)?$")] = ""
    """Address and port of the author's PC in a client, whose place the emulated PC takes and echoes."""
    stack_delay_us: Annotated[int, Field(ge=0)] = 0
    """Delay of the simulated PC beside a guest or a loop of `sends`, see docs/network.md."""
    libraries: int | None = None
    """The client's pinned libraries: those of this major version of CircuitPython."""
    resolution: Annotated[float, Field(ge=0)] = 0.0
    """Step of the published figures, in their unit. A difference of one step is ignored."""
    scale: float = 1.0
    """Factor from a row's figures, or those of `sends` in Mbit/s, to the unit."""
    note: str = ""
    chosen_by: tuple[str, ...] = ()
    """Figures that influenced the emulated board's design. All others were measured afterwards."""
    silicon: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]

    @model_validator(mode="after")
    def _whole(self) -> FigureSet:
        if not self.silicon:
            raise ValueError("has no figures")
        if (self.method == "row") != (self.workload is not None and self.profile is not None):
            raise ValueError("workload and profile are for the method row, which needs both")
        if self.settings and self.method not in ("row", "client", "sends"):
            raise ValueError("settings are for the methods row, client and sends; leave them out")
        if (self.method == "image") != bool(self.built_of):
            raise ValueError("built_of is for the method image, which needs it")
        if (self.method in ("script", "client")) != bool(self.scripts):
            raise ValueError("scripts are for the methods script and client, which need them")
        if (self.method == "client") != (bool(self.server) and self.libraries is not None):
            raise ValueError("server and libraries are for the method client, which needs both")
        if unknown := next((name for name in self.chosen_by if name not in self.silicon), None):
            raise ValueError(f"chosen_by has {unknown!r}, which is not a figure of the set")
        if self.relation == "other conditions" and not self.note:
            raise ValueError("other conditions need a note that says which")
        return self


class NotCompared(_Strict):
    """A published figure that cannot be compared, and the reason."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    what: str
    source: str
    silicon: str
    """With its unit."""
    because: str


class _FiguresFile(_Strict):
    set: list[FigureSet] = []
    not_compared: list[NotCompared] = []

    @model_validator(mode="after")
    def _ids(self) -> _FiguresFile:
        ids = [each.id for each in self.set]
        if twice := next((each for each in ids if ids.count(each) > 1), None):
            raise ValueError(f"{twice} is there twice; give one of them another id")
        return self


def load_not_compared(path: Path = FILE) -> list[NotCompared]:
    """The figures that are not compared, in the file's order. Raises PortbenchError."""
    return _load(path).not_compared


def load(path: Path = FILE) -> list[FigureSet]:
    """All sets, in the file's order. Raises PortbenchError."""
    return _load(path).set


def _load(path: Path) -> _FiguresFile:
    try:
        return _FiguresFile.model_validate(parse_toml(read_text(path), path))
    except ValidationError as error:
        raise PortbenchError(f"{path}: {first_complaint(error)}; correct it") from None
