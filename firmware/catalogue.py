"""The catalogue of firmware images: `catalogue.toml` and the users' own files like it, read and checked.

The header of `catalogue.toml` explains the keys.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from portbench.complaint import first_complaint
from portbench.toml_files import BadFile, parse_toml, read_text, users_files

CATALOGUE_PATH: Final = Path(__file__).parent / "catalogue.toml"
CATALOGUE_VARIABLE: Final = "PORTBENCH_CATALOGUE"
"""A user's own catalogues, separated as in PATH."""
_USUAL: Final = "catalogue.toml"


class CatalogueError(Exception):
    """The catalogue, or a runtime asked of it, is wrong: one line with file, entry, value and fix."""


class Family(StrEnum):
    """How an image is deployed to and talked to."""

    MICROPYTHON = "micropython"
    WIZNET = "wiznet"
    CIRCUITPYTHON = "circuitpython"
    NATIVE = "native"
    HOSTED = "hosted"


_STRICT = ConfigDict(extra="forbid")
_Text = Annotated[StrictStr, Field(min_length=1)]
_Id = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")]


@dataclass(frozen=True, config=_STRICT)
class Published:
    """Silicon figures that somebody published for a row."""

    total_s: Annotated[tuple[Annotated[StrictFloat, Field(gt=0)], ...], Field(min_length=1)]
    """Seconds per run, one entry per run."""
    messages: Annotated[StrictInt, Field(gt=0)]
    """Messages per run."""
    source: _Text


@dataclass(frozen=True, config=_STRICT)
class RunSettings:
    """One way of running an image; each becomes a row of the table."""

    name: _Id
    spi_hz: Annotated[StrictInt, Field(gt=0)] | None = None
    """SPI clock that the client asks for; None: the driver's own default."""
    intn: StrictBool | None = None
    """Whether the client passes the INTn pin; None: the driver's own default, or not settable."""
    published: Published | None = None


@dataclass(frozen=True, config=_STRICT)
class FirmwareEntry:
    """One image of the catalogue, or one wrapped by `firmware.identify.entry_for_file`."""

    id: _Id
    family: Family
    board: _Text
    rows: Annotated[tuple[RunSettings, ...], Field(min_length=1)]
    version: _Text | None = None
    """As the firmware reports it. None for hosted ports: their package says."""
    file: _Text | None = None
    url: Annotated[StrictStr, Field(pattern=r"^https?://[^/]+/.+")] | None = None
    sha256: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    bundled: Path | None = None
    """Image that is no download; its path in a catalogue is relative to the catalogue's folder."""
    provide: _Text | None = None
    """Command that makes the bundled image."""
    package: _Text | None = None
    """Python package of a hosted port."""
    path: Path | None = None
    """Image given explicitly; set for entries that are in no catalogue."""


_REQUIRED: Final[dict[Family, frozenset[str]]] = {
    Family.MICROPYTHON: frozenset({"version", "file", "url"}),
    Family.WIZNET: frozenset({"version", "file", "url"}),
    Family.CIRCUITPYTHON: frozenset({"version", "file", "url"}),
    Family.NATIVE: frozenset({"version", "file", "bundled", "provide"}),
    Family.HOSTED: frozenset({"package"}),
}
_OPTIONAL: Final[dict[Family, frozenset[str]]] = {
    Family.MICROPYTHON: frozenset({"sha256"}),
    Family.WIZNET: frozenset({"sha256"}),
    Family.CIRCUITPYTHON: frozenset({"sha256"}),
    Family.NATIVE: frozenset(),
    Family.HOSTED: frozenset(),
}
_ALWAYS: Final = frozenset({"id", "family", "board", "rows"})
_ENTRY: Final = TypeAdapter(FirmwareEntry)

DEFAULT_ROWS: Final[dict[Family, tuple[RunSettings, ...]]] = {
    Family.MICROPYTHON: (RunSettings("as-published", spi_hz=2_000_000, intn=False), RunSettings("tuned", intn=True)),
    Family.WIZNET: (RunSettings("as-published", spi_hz=2_000_000), RunSettings("tuned", spi_hz=20_000_000)),
    Family.CIRCUITPYTHON: (RunSettings("as-published"),),
    Family.NATIVE: (RunSettings("tuned"),),
    Family.HOSTED: (RunSettings("hosted"),),
}
"""Rows of an image that is in no catalogue."""


@dataclass(frozen=True)
class Catalogue:
    """All entries, in the order of the files that they were read from."""

    paths: tuple[Path, ...]
    entries: tuple[FirmwareEntry, ...]

    def __iter__(self) -> Iterator[FirmwareEntry]:
        return iter(self.entries)

    def get(self, runtime: str) -> FirmwareEntry:
        """Entry with the id `runtime`; raises `CatalogueError` that names the nearest ids."""
        for entry in self.entries:
            if entry.id == runtime:
                return entry
        ids = [entry.id for entry in self.entries]
        near = difflib.get_close_matches(runtime, ids, n=3, cutoff=0.5) or ids
        files = ", ".join(map(str, self.paths))
        raise CatalogueError(f"{files}: unknown runtime {runtime!r}; choose one of: {', '.join(near)}")


def load(*paths: Path) -> Catalogue:
    """The catalogue of these files; without any, ours and then the user's. Raises `CatalogueError`."""
    entries: dict[str, FirmwareEntry] = {}
    owners: dict[str, Path] = {}
    paths = paths or (CATALOGUE_PATH, *users_files(CATALOGUE_VARIABLE, _USUAL))
    for path in paths:
        for entry in _read(path):
            if entry.id in entries:
                raise CatalogueError(f"{path}: image {entry.id!r}: the id is taken by {owners[entry.id]}; use another")
            entries[entry.id], owners[entry.id] = entry, path
    return Catalogue(paths, tuple(entries.values()))


def _read(path: Path) -> Catalogue:
    try:
        return parse(read_text(path), path)
    except BadFile as error:
        raise CatalogueError(str(error)) from error


def parse(text: str, path: Path) -> Catalogue:
    """The catalogue in the TOML document `text`; `path` is its file's name for messages and `bundled`."""
    try:
        document = parse_toml(text, path)
    except BadFile as error:
        raise CatalogueError(str(error)) from error
    unknown = sorted(document.keys() - {"image"})
    if unknown:
        raise CatalogueError(f"{path}: unknown key {unknown[0]!r}; only [[image]] entries belong here")
    images = document.get("image")
    if not isinstance(images, list) or not images or not all(isinstance(image, dict) for image in images):
        raise CatalogueError(f"{path}: has no [[image]] entry; add one")
    entries: dict[str, FirmwareEntry] = {}
    for number, raw in enumerate(images, start=1):
        entry = _entry(raw, f"{path}: image {raw.get('id', f'number {number}')!r}")
        if entry.bundled is not None:
            entry = replace(entry, bundled=path.parent / entry.bundled)
        if entry.id in entries:
            raise CatalogueError(
                f"{path}: image {entry.id!r}: the id is used twice; give entry number {number} another"
            )
        entries[entry.id] = entry
    return Catalogue((path,), tuple(entries.values()))


def _entry(raw: dict[str, Any], where: str) -> FirmwareEntry:
    family = raw.get("family")
    if not isinstance(family, str) or family not in set(Family):
        raise CatalogueError(f"{where}: family is {family!r}; use one of: {', '.join(Family)}")
    _check_keys(raw, Family(family), where)
    try:
        entry = _ENTRY.validate_python(raw)
    except ValidationError as error:
        raise CatalogueError(f"{where}: {first_complaint(error)}") from error
    names = [row.name for row in entry.rows]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CatalogueError(f"{where}: row {twice!r} is there twice; give each row its own name")
    for key in ("file", "bundled"):
        _check_file_name(raw.get(key), key, where)
    if entry.family is not Family.MICROPYTHON and any(row.intn is not None for row in entry.rows):
        raise CatalogueError(f"{where}: intn is set, but only family 'micropython' takes that pin; remove intn")
    return entry


def _check_keys(raw: dict[str, Any], family: Family, where: str) -> None:
    required = _ALWAYS | _REQUIRED[family]
    allowed = required | _OPTIONAL[family]
    if unknown := sorted(raw.keys() - allowed):
        raise CatalogueError(
            f"{where}: key {unknown[0]!r} = {raw[unknown[0]]!r} is unknown for family {str(family)!r};"
            f" remove it or use one of: {', '.join(sorted(allowed))}"
        )
    if missing := sorted(required - raw.keys()):
        raise CatalogueError(f"{where}: key {missing[0]!r} is missing; add it")


def _check_file_name(name: str | None, key: str, where: str) -> None:
    if name is None:
        return
    pure = PurePosixPath(name)
    plain = re.fullmatch(r"[\w.\-/]+\.uf2", name) is not None and not pure.is_absolute() and ".." not in pure.parts
    if not plain or (key == "file" and len(pure.parts) != 1):
        raise CatalogueError(f"{where}: {key} is {name!r}; give a plain .uf2 file name")
