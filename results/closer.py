"""Two further results of an emulated row beside its attribution: the signals of one exchange, and what-if figures."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_FRAMES: Final = 1000
"""SPI frames that a waveform keeps."""
_MOST: Final = 1 << 53
_Ns = Annotated[int, Field(ge=0, le=_MOST)]
_Count = Annotated[int, Field(ge=0, le=_MOST)]
_Text = Annotated[str, Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpiFrames(_Model):
    """The SPI frames of an exchange in the order of their time; every list has an entry for each."""

    start_ns: list[_Ns] = []
    duration_ns: list[_Ns] = []
    name: list[_Text] = []
    """The register or buffer, by its name in the chip's datasheet."""
    write: list[bool] = []
    wire_bytes: list[_Count] = []

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
    length_bytes: _Count


class IntnLevel(_Model):
    """INTn has this level from here on."""

    at_ns: _Ns
    high: bool


class Waveform(_Model):
    """One exchange of a row on its wires. Times are nanoseconds from its start.

    An exchange begins when the PC has received the one before it, and ends when the PC has received this one.
    """

    version: Literal[1] = 1
    noun: _Text
    """The workload's word for an exchange."""
    number: Annotated[int, Field(ge=1, le=_MOST)]
    duration_ns: Annotated[int, Field(ge=1, le=_MOST)]
    spi: SpiFrames = SpiFrames()
    spi_left_out: _Count = 0
    """SPI frames beyond `MOST_FRAMES`."""
    cable: list[CableFrame] = []
    intn: list[IntnLevel] = []


class WhatIf(_Model):
    """A changed condition and the row's figure under it, from a run with few exchanges."""

    name: _Text
    title: _Text
    value: Annotated[float, Field(gt=0)]
    """The headline figure."""
    times: Annotated[float, Field(gt=0)]
    """The figure relative to that of the unchanged row, with as few exchanges; above 1 is better."""
