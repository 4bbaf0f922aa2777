"""The releases that the makers of MicroPython and CircuitPython offer for a board, and their choice by version.

A board's list is read from its maker's download site at most once a day and kept in the user's cache. Without the site
the newest list here is used: the cached one, or that of `releases.toml`, which comes with portbench. Every list has its
date.
"""

from __future__ import annotations

import re
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urljoin

import platformdirs
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from portbench.errors import PortbenchError, unwritable
from portbench.files import replace_file
from portbench.firmware.catalogue import Catalogue, Family, FirmwareEntry
from portbench.firmware.download import Reachability, download
from portbench.firmware.images import is_offline
from portbench.toml_files import parse_toml, read_text

SHIPPED: Final = Path(__file__).with_name("releases.toml")
LIMIT_S: Final = 30.0
"""For all pages of a list together."""
LATEST: Final = "latest"
PREVIEW: Final = "preview"

_WITHOUT_NAME: Final = "W5500_EVB_PICO"
"""The board that ids do not name."""
_MOST_PAGES: Final = 50
_FILE: Final = {
    Family.MICROPYTHON: re.compile(r"(.+)-\d{8}-v([\d.]+(?:-preview\.\d+\.g[0-9a-f]+)?)\.uf2"),
    Family.CIRCUITPYTHON: re.compile(r"adafruit-circuitpython-(.+)-en_US-([\d.]+(?:-(?:alpha|beta|rc)\.\d+)?)\.uf2"),
}
"""File names, with the maker's name of the board and the version."""
LISTED: Final = tuple(_FILE)
"""The families that have lists."""
SITES: Final = MappingProxyType(
    {
        Family.MICROPYTHON: "https://micropython.org/",
        Family.CIRCUITPYTHON: "https://adafruit-circuit-python.s3.amazonaws.com/",
    }
)
"""Addresses of the lists. CircuitPython's is a bucket of S3."""
_CIRCUITPYTHON_FILES: Final = "https://downloads.circuitpython.org/"


@dataclass(frozen=True)
class ReleaseTarget:
    """A board for which releases are listed. `names`: what the makers call it."""

    board: str
    names: Mapping[Family, str]
    has_radio: bool

    def prefix(self, family: Family) -> str:
        """Start of its releases' ids, as in the catalogue: `micropython-` and `micropython-pico-w-`."""
        board = self.board.lower().removeprefix("rpi_").replace("_", "-") + "-"
        return f"{family}-{'' if self.board == _WITHOUT_NAME else board}"


@dataclass(frozen=True)
class Release:
    """One file of a list."""

    family: Family
    name: str
    """The board's."""
    version: str
    """The version that the firmware reports."""
    url: str

    @classmethod
    def of(cls, url: str) -> Release | None:
        """The release with this address; None for a file of another kind."""
        for family, pattern in _FILE.items():
            if match := pattern.fullmatch(url.rpartition("/")[2]):
                try:
                    _number(match[2])
                except InvalidVersion:
                    return None
                return cls(family, match[1], match[2], url)
        return None

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]

    @cached_property
    def number(self) -> Version:
        return _number(self.version)


def changes(family: Family, network: str | None) -> list[tuple[str, str]]:
    """The changes of a family that move figures of boards with this kind of network: since which release, and what."""
    known = [each for each in parse_toml(read_text(SHIPPED), SHIPPED)["change"] if each["family"] == family]
    return [(each["since"], each["text"]) for each in known if each.get("on", network) == network]


def _number(version: str) -> Version:
    """`1.30.0-preview.24.g8162451850`: the commit is not part of the order."""
    return Version(version.replace(".g", "+g"))


@dataclass(frozen=True)
class Listing:
    """The releases of one family for one board as its maker listed them on the day `seen`, oldest first."""

    releases: tuple[Release, ...]
    seen: date

    @property
    def stable(self) -> list[Release]:
        return [each for each in self.releases if not each.number.is_prerelease]

    @property
    def preview(self) -> Release | None:
        """The newest preview, if it is newer than the newest stable release."""
        newest = self.releases[-1] if self.releases else None
        return newest if newest is not None and newest.number.is_prerelease else None


class ReleaseIndex:
    """The lists of all boards. `cache` None: the user's folder. `offline` None: PORTBENCH_OFFLINE, if not 0."""

    def __init__(
        self,
        cache: Path | None = None,
        offline: bool | None = None,
        sites: Mapping[Family, str] = SITES,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._remarks: dict[str, str] = {}
        self._cache = cache or platformdirs.user_cache_path("portbench", appauthor=False) / "releases"
        self._offline = is_offline() if offline is None else offline
        self._sites = sites
        self._today = today
        self._faults: dict[tuple[Family, str], str] = {}
        self._reachability = Reachability(sites.values())

    @property
    def remarks(self) -> list[str]:
        """A line for each choice that was made, with the date of its list."""
        return list(self._remarks.values())

    def select(self, selector: str, target: ReleaseTarget, known: Catalogue) -> list[FirmwareEntry]:
        """The images that `micropython@latest` and the like name for a board, oldest first. Raises PortbenchError."""
        family, _, wanted = selector.partition("@")
        if family not in _FILE:
            raise PortbenchError(f"{selector}: {family!r} has no list of releases; write {_EXAMPLES}")
        listing = self.listing(Family(family), target, known, ask=True)
        chosen = _matching(listing, wanted, selector)
        fault = self.fault(Family(family), target)
        stated = f"list of {listing.seen}" + (f"; {fault}" if fault else "")
        if not chosen:
            has = ", ".join(dict.fromkeys(each.version for each in listing.releases[-8:])) or "none"
            raise PortbenchError(f"{selector}: {target.board} has no such release ({stated}); the newest are: {has}")
        self._remarks[selector] = f"{selector}: {', '.join(each.version for each in chosen)} ({stated})"
        return [_entry(each, target, known) for each in chosen]

    def newest(self, family: Family, target: ReleaseTarget, known: Catalogue) -> FirmwareEntry | None:
        """The image of the newest stable release; None for a family without a list. Asks no site."""
        if family not in target.names:
            return None
        stable = self.listing(family, target, known).stable
        return _entry(stable[-1], target, known) if stable else None

    def entry(self, runtime: str, targets: Iterable[ReleaseTarget], known: Catalogue) -> FirmwareEntry | None:
        """The image whose id `select` made; None for another. Asks no site."""
        for target in targets:
            for family in target.names:
                prefix = target.prefix(family)
                if not runtime.startswith(prefix):
                    continue
                for release in self.listing(family, target, known).releases:
                    if runtime == prefix + release.version:
                        return _entry(release, target, known)
        return None

    def listing(self, family: Family, target: ReleaseTarget, known: Catalogue, *, ask: bool = False) -> Listing:
        """The newest list of `family` for a board, with the catalogue's images. `ask`: first bring it up to date."""
        name = target.names[family]
        listing = self._here(family, name)
        asks = ask and listing.seen < self._today() and (family, name) not in self._faults
        if asks and not self._offline:
            try:
                listing = Listing(tuple(self._asked(family, name)), self._today())
                self._store(family, name, listing)
            except PortbenchError as error:
                self._faults[family, name] = str(error)
        pinned = (Release.of(entry.url) for entry in known if entry.url and entry.board == target.board)
        releases = {each.file: each for each in (*listing.releases, *filter(None, pinned)) if each.family == family}
        return Listing(tuple(sorted(releases.values(), key=lambda each: each.number)), listing.seen)

    def fault(self, family: Family, target: ReleaseTarget) -> str | None:
        """Why the list could not be brought up to date."""
        return self._faults.get((family, target.names[family]))

    def _path(self, family: Family, name: str) -> Path:
        return self._cache / f"{family}-{name}.toml"

    def _here(self, family: Family, name: str) -> Listing:
        shipped = _shipped().get((family, name), Listing((), date.min))
        path = self._path(family, name)
        try:
            cached = _read(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return shipped  # a cache that cannot be used is written anew
        return max(cached, shipped, key=lambda each: each.seen)

    def _store(self, family: Family, name: str, listing: Listing) -> None:
        path = self._path(family, name)
        lines = (f'    "{each.url}",\n' for each in listing.releases)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, f"seen = {listing.seen}\nurls = [\n{''.join(lines)}]\n")
        except OSError as error:
            raise PortbenchError(unwritable(path, error)) from error

    def _asked(self, family: Family, name: str) -> Iterator[Release]:
        """The releases on the maker's site. Raises PortbenchError."""
        site = self._sites[family]
        if fault := self._reachability.fault(site):
            raise PortbenchError(fault)
        urls = _micropython_urls(site, name) if family is Family.MICROPYTHON else _circuitpython_urls(site, name)
        found = {each.url: each for url in urls if (each := Release.of(url)) is not None and each.name == name}
        if not found:
            raise PortbenchError(f"{site} lists no release for {name}")
        yield from found.values()


_EXAMPLES: Final = "micropython@latest, circuitpython@10, micropython@1.24..1.28 or micropython@preview"


@lru_cache(maxsize=1)
def usual_index() -> ReleaseIndex:
    """That of the user's cache. A process asks each site once."""
    return ReleaseIndex()


def _matching(listing: Listing, wanted: str, selector: str) -> list[Release]:
    stable = listing.stable
    if wanted == LATEST:
        return stable[-1:]
    if wanted == PREVIEW:
        return [] if listing.preview is None else [listing.preview]
    if exact := [each for each in listing.releases if each.version == wanted]:
        return exact
    first, dots, last = wanted.partition("..")
    try:
        within = SpecifierSet(f">={first}") if dots else SpecifierSet(f"=={first}.*")
        ends = SpecifierSet(f"=={last}.*") if dots else within
        below = SpecifierSet(f"<={last}") if dots else within
    except ValueError:
        raise PortbenchError(f"{selector}: {wanted!r} is not a version; write {_EXAMPLES}") from None
    found = [each for each in stable if each.number in within and (each.number in below or each.number in ends)]
    return found if dots else found[-1:]


def _entry(release: Release, target: ReleaseTarget, known: Catalogue) -> FirmwareEntry:
    """The catalogue's entry of this file, else one with the family's usual profiles."""
    for entry in known:
        if entry.file == release.file:
            return entry
    traits = release.family.traits
    return FirmwareEntry(
        id=target.prefix(release.family) + release.version,
        family=release.family,
        board=target.board,
        profiles=(target.has_radio and traits.radio_profiles) or traits.profiles,
        version=release.version,
        file=release.file,
        url=release.url,
    )


def _read(document: Mapping[str, Any]) -> Listing:
    start = document.get("start", "")
    releases = (Release.of(start + each) for each in document["urls"])
    if type(document["seen"]) is not date:
        raise TypeError("seen is not a date")
    return Listing(tuple(filter(None, releases)), document["seen"])


@lru_cache(maxsize=1)
def _shipped() -> Mapping[tuple[Family, str], Listing]:
    lists = parse_toml(read_text(SHIPPED), SHIPPED)["list"]
    return {(Family(each["family"]), each["name"]): _read(each) for each in lists}


def _micropython_urls(site: str, name: str) -> Iterator[str]:
    """The links of a board's page."""
    page = _fetch(urljoin(site, f"download/{quote(name)}/"), LIMIT_S)
    for link in re.findall(r'href="(/resources/firmware/[\w.+-]+\.uf2)"', page):
        yield urljoin(site, link)


def _circuitpython_urls(site: str, name: str) -> Iterator[str]:
    """The keys of a board's folder in the bucket (ListObjectsV2: 1000 a page), as addresses of the download site."""
    folder = f"bin/{name}/en_US/"
    first = f"{site}?list-type=2&prefix={quote(folder)}"
    ends = time.monotonic() + LIMIT_S
    token: str | None = None
    for _ in range(_MOST_PAGES):
        more = "" if token is None else f"&continuation-token={quote(token, safe='')}"
        page = _fetch(first + more, max(0.0, ends - time.monotonic()))
        for key in re.findall(rf"<Key>({re.escape(folder)}[\w.+-]+)</Key>", page):
            yield _CIRCUITPYTHON_FILES + key
        found = re.search(r"<NextContinuationToken>([^<&]+)</NextContinuationToken>", page)
        if found is None:
            return
        token = found[1]
    raise PortbenchError(f"{first}: has more than {_MOST_PAGES} pages")


def _fetch(url: str, limit_s: float) -> str:
    with tempfile.TemporaryDirectory(prefix="portbench-list-") as folder:
        return download(url, Path(folder), "list", limit_s=limit_s).read_text(encoding="utf-8", errors="replace")
