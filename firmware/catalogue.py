"""The families of firmware, and the catalogue of images: `catalogue.toml` and the users' own files like it.

The header of `catalogue.toml` explains the keys. A new family is one entry of `Family`, and one in
`clients/families.py` where it has a client script.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from portbench.errors import PortbenchError, first_complaint
from portbench.toml_files import parse_toml, read_text, users_files

STRICT = ConfigDict(extra="forbid", defer_build=True)
Id = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")]


@checked_dataclass(frozen=True, config=STRICT)
class Profile:
    """One way of running an image."""

    name: Id
    spi_hz: Annotated[StrictInt, Field(gt=0, le=133_000_000)] | None = None
    """SPI clock that the client asks for; None: the driver's own default."""
    intn: StrictBool | None = None
    """True if the client passes the INTn pin; None: the driver's own default, or not settable."""
    power_save: StrictBool | None = None
    """True if a radio chip sleeps between frames; None: the firmware's own setting."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of workloads, by the workload's name, where this profile does not run them with their defaults."""


@dataclass(frozen=True)
class Traits:
    """The properties of a family. The defaults are those of a Python firmware in a UF2 file."""

    profiles: tuple[Profile, ...]
    """Those of an image that is in no catalogue."""
    radio_profiles: tuple[Profile, ...] = ()
    """Profiles for a board with a radio chip."""
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
    """A kind of firmware, by the name that catalogues and rows have.

    It decides how its images are deployed, talked to and measured.
    """

    traits: Traits

    MICROPYTHON = (
        "micropython",
        Traits(
            (Profile("as-published", spi_hz=2_000_000, intn=False), Profile("tuned", intn=True)),
            (Profile("as-built"), Profile("no-power-save", power_save=False)),
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
    CIRCUITPYTHON = (
        "circuitpython",
        Traits((Profile("as-published"),), (Profile("as-built"),), runtime="CircuitPython"),
    )
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
            required_keys=frozenset({"version", "file"}),
            optional_keys=frozenset({"url", "sha256", "made_by"}),
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


CATALOGUE_PATH: Final = Path(__file__).parent / "catalogue.toml"
CATALOGUE_VARIABLE: Final = "PORTBENCH_CATALOGUE"
"""A user's own catalogues, separated as in PATH."""
_USUAL: Final = "catalogue.toml"


_Text = Annotated[StrictStr, Field(min_length=1)]


@checked_dataclass(frozen=True, config=STRICT)
class Offers:
    """Features of an image beside its speed, and where they are documented. None: not known."""

    released: date
    """The date of this image."""
    maintained: StrictBool
    """True if newer releases are still made."""
    sources: Annotated[tuple[_Text, ...], Field(min_length=1)]
    python: _Text | None = None
    """Its Python and release: `MicroPython 1.20`."""
    tcp_sockets: Annotated[StrictInt, Field(ge=0, le=1_000_000)] | None = None
    """TCP connections that can be open at once."""
    tls: StrictBool | None = None


@checked_dataclass(frozen=True, config=STRICT)
class FirmwareEntry:
    """One image of the catalogue, or one wrapped by `firmware.identify.entry_for_file`."""

    id: Id
    family: Family
    board: _Text
    profiles: Annotated[tuple[Profile, ...], Field(min_length=1)]
    version: _Text | None = None
    """The version that the firmware reports. None for hosted ports: their package says."""
    file: _Text | None = None
    url: Annotated[StrictStr, Field(pattern=r"^https?://[^/]+/.+")] | None = None
    sha256: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    offers: Offers | None = None
    package: _Text | None = None
    """Python package of a hosted port."""
    made_by: _Text | None = None
    """The command that makes the image, without the path of the file, which comes last."""
    path: Path | None = None
    """Image given explicitly; set for entries that are in no catalogue."""

    @property
    def build(self) -> str:
        """The words that distinguish this image from others of its name."""
        if self.path is not None:
            return "/".join(self.path.absolute().parts[-2:])
        return self.file or self.package or self.id


_ALWAYS: Final = frozenset({"id", "family", "board", "profiles"})
_ENTRY: Final = TypeAdapter(FirmwareEntry)


@dataclass(frozen=True)
class Catalogue:
    """All entries, in the order of the files that they were read from."""

    paths: tuple[Path, ...]
    entries: tuple[FirmwareEntry, ...]

    def __iter__(self) -> Iterator[FirmwareEntry]:
        return iter(self.entries)

    def get(self, runtime: str) -> FirmwareEntry:
        """Entry with the id `runtime`; raises `PortbenchError` that names the nearest ids."""
        for entry in self.entries:
            if entry.id == runtime:
                return entry
        ids = [entry.id for entry in self.entries]
        near = difflib.get_close_matches(runtime, ids, n=3, cutoff=0.5) or ids
        files = ", ".join(map(str, self.paths))
        raise PortbenchError(f"{files}: unknown runtime {runtime!r}; choose one of: {', '.join(near)}")


def load(*paths: Path) -> Catalogue:
    """The catalogue of these files; without any, the project's and then the user's. Raises `PortbenchError`."""
    entries: dict[str, FirmwareEntry] = {}
    owners: dict[str, Path] = {}
    paths = paths or (CATALOGUE_PATH, *users_files(CATALOGUE_VARIABLE, _USUAL))
    for path in paths:
        for entry in _read(path):
            if entry.id in entries:
                raise PortbenchError(f"{path}: image {entry.id!r}: the id is taken by {owners[entry.id]}; use another")
            entries[entry.id], owners[entry.id] = entry, path
    return Catalogue(paths, tuple(entries.values()))


def _read(path: Path) -> Catalogue:
    return parse(read_text(path), path)


@lru_cache(maxsize=4)
def parse(text: str, path: Path) -> Catalogue:
    """The catalogue in the TOML document `text`; `path` is its file's name for messages."""
    document = parse_toml(text, path)
    unknown = sorted(document.keys() - {"image"})
    if unknown:
        raise PortbenchError(f"{path}: unknown key {unknown[0]!r}; only [[image]] entries belong here")
    images = document.get("image")
    if not isinstance(images, list) or not images or not all(isinstance(image, dict) for image in images):
        raise PortbenchError(f"{path}: has no [[image]] entry; add one")
    entries: dict[str, FirmwareEntry] = {}
    for number, raw in enumerate(images, start=1):
        entry = _entry(raw, f"{path}: image {raw.get('id', f'number {number}')!r}")
        if entry.id in entries:
            raise PortbenchError(
                f"{path}: image {entry.id!r}: the id is used twice; give entry number {number} another"
            )
        entries[entry.id] = entry
    return Catalogue((path,), tuple(entries.values()))


def _entry(raw: dict[str, Any], where: str) -> FirmwareEntry:
    family = raw.get("family")
    if not isinstance(family, str) or family not in set(Family):
        raise PortbenchError(f"{where}: family is {family!r}; use one of: {', '.join(Family)}")
    _check_keys(raw, Family(family), where)
    try:
        entry = _ENTRY.validate_python(raw)
    except ValidationError as error:
        raise PortbenchError(f"{where}: {first_complaint(error)}") from error
    names = [profile.name for profile in entry.profiles]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PortbenchError(f"{where}: profile {twice!r} is given twice; give each profile its own name")
    _check_file_name(entry.file, where)
    _check_url(entry.url, where)
    takes_intn = "intn" in entry.family.traits.profile_keys
    if not takes_intn and any(profile.intn is not None for profile in entry.profiles):
        raise PortbenchError(f"{where}: intn is set, which family {str(entry.family)!r} does not use; remove it")
    return entry


def _check_keys(raw: dict[str, Any], family: Family, where: str) -> None:
    required = _ALWAYS | family.traits.required_keys
    allowed = required | family.traits.optional_keys
    if unknown := sorted(raw.keys() - allowed):
        raise PortbenchError(
            f"{where}: key {unknown[0]!r} = {raw[unknown[0]]!r} is unknown for family {str(family)!r};"
            f" remove it or use one of: {', '.join(sorted(allowed))}"
        )
    if missing := sorted(required - raw.keys()):
        raise PortbenchError(f"{where}: key {missing[0]!r} is missing; add it")


def _check_file_name(name: str | None, where: str) -> None:
    if name is not None and re.fullmatch(r"[\w.+\-]+\.(uf2|hex|elf)", name) is None:
        raise PortbenchError(f"{where}: file is {name!r}; give a plain .uf2, .hex or .elf file name")


def _check_url(url: str | None, where: str) -> None:
    if url is None:
        return
    try:
        parts = urlsplit(url)
        good = parts.port != 0 and re.search(r"[\s\x00-\x1f]", url) is None and bool(parts.hostname)
        (parts.hostname or "").encode("idna")
    except ValueError:
        good = False
    if not good:
        raise PortbenchError(f"{where}: url is {url!r}; give a valid address: https://HOST/FILE.uf2")
