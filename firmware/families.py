"""Firmware families: how an image of each is deployed to, talked to and measured. A new family is one entry here, and
one in `clients/families.py` where it has a client script."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr
from pydantic.dataclasses import dataclass

STRICT = ConfigDict(extra="forbid")
Id = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")]


@dataclass(frozen=True, config=STRICT)
class Profile:
    """One way of running an image."""

    name: Id
    spi_hz: Annotated[StrictInt, Field(gt=0, le=133_000_000)] | None = None
    """SPI clock that the client asks for; None: the driver's own default."""
    intn: StrictBool | None = None
    """Whether the client passes the INTn pin; None: the driver's own default, or not settable."""
    power_save: StrictBool | None = None
    """Whether a radio chip sleeps between frames; None: the firmware's own setting."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of workloads, by the workload's name, where this profile does not run them with their defaults."""


@dataclass(frozen=True)
class Traits:
    """The properties of a family. The defaults are those of a Python firmware in a UF2 file."""

    profiles: tuple[Profile, ...]
    """Those of an image that is in no catalogue."""
    runtime: str | None = None
    """The name in its images' banners; None: its images are not checked for one."""
    required_keys: frozenset[str] = frozenset({"version", "file", "url"})
    """The keys of its catalogue entries, beside those that all have."""
    optional_keys: frozenset[str] = frozenset({"sha256", "offers"})
    profile_keys: frozenset[str] = frozenset({"spi_hz"})
    """The settings of a profile that its client applies."""
    hosted: bool = False
    """A port that runs on the PC: an installed package instead of an image and a board."""
    has_console: bool = True
    """Its board prints the client's report; without a console the client sends it to the PC's server."""
    client_in_image: bool = False
    """The image is the client: each workload brings one, and its parameters are written into it."""
    timed_by_pc: bool = False
    """Nothing is deployed to it: the image connects by itself, and the PC times it."""
    board_sets_spi_hz: bool = False
    """Without a profile's SPI clock its client asks for the board's default."""
    own_release_numbers: bool = False
    """Its releases have other numbers than those that its images report."""


class Family(StrEnum):
    """A kind of firmware, by the name that catalogues and rows have."""

    traits: Traits

    MICROPYTHON = (
        "micropython",
        Traits(
            (Profile("as-published", spi_hz=2_000_000, intn=False), Profile("tuned", intn=True)),
            runtime="MicroPython",
            profile_keys=frozenset({"spi_hz", "intn"}),
            board_sets_spi_hz=True,
        ),
    )
    WIZNET = (
        "wiznet",
        Traits(
            (Profile("as-published", spi_hz=2_000_000), Profile("tuned", spi_hz=20_000_000)),
            runtime="MicroPython",
            board_sets_spi_hz=True,
            own_release_numbers=True,
        ),
    )
    CIRCUITPYTHON = ("circuitpython", Traits((Profile("as-published"),), runtime="CircuitPython"))
    NATIVE = (
        "native",
        Traits(
            (Profile("tuned"),),
            runtime="portbench-native",
            required_keys=frozenset({"version"}),
            optional_keys=frozenset(),
            profile_keys=frozenset({"spi_hz", "intn"}),
            has_console=False,
            client_in_image=True,
        ),
    )
    FOREIGN = (
        "foreign",
        Traits(
            (Profile("as-built"),),
            optional_keys=frozenset({"sha256"}),
            profile_keys=frozenset(),
            has_console=False,
            timed_by_pc=True,
        ),
    )
    HOSTED = (
        "hosted",
        Traits(
            (Profile("hosted"),),
            required_keys=frozenset({"package"}),
            optional_keys=frozenset(),
            profile_keys=frozenset(),
            hosted=True,
        ),
    )

    def __new__(cls, name: str, *traits: Traits) -> Family:  # none in a look-up: Family("native")
        member = str.__new__(cls, name)
        member._value_ = name
        (member.traits,) = traits
        return member
