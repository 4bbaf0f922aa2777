"""What a closer look at an emulated row gave beside its attribution: one exchange's signals, and what changes bring."""

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
    """Of the register or buffer, as the chip's datasheet has it."""
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

    An exchange lasts from when the PC has the one before it to when the PC has this one.
    """

    version: Literal[1] = 1
    noun: _Text
    """What the workload calls an exchange."""
    number: Annotated[int, Field(ge=1, le=_MOST)]
    duration_ns: Annotated[int, Field(ge=1, le=_MOST)]
    spi: SpiFrames = SpiFrames()
    spi_left_out: _Count = 0
    """SPI frames beyond `MOST_FRAMES`."""
    cable: list[CableFrame] = []
    intn: list[IntnLevel] = []


class WhatIf(_Model):
    """One thing that is not so, and what the row would give if it were. The row was run so, with few exchanges."""

    name: _Text
    title: _Text
    value: Annotated[float, Field(gt=0)]
    """The headline figure."""
    times: Annotated[float, Field(gt=0)]
    """How many times better than as few exchanges of the row as it is."""
