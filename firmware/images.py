"""Obtaining images: from the folder in PORTBENCH_FIRMWARE_DIR, the user's cache or a download, checked by hash."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shlex
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import platformdirs

from portbench.firmware import uf2
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.firmware.download import DownloadError, Progress, download
from portbench.firmware.hash_lock import LOCK_NAME, HashLock
from portbench.firmware.network import Reachability

FOLDER_VARIABLE: Final = "PORTBENCH_FIRMWARE_DIR"
OFFLINE_VARIABLE: Final = "PORTBENCH_OFFLINE"


class ImageError(Exception):
    """An image cannot be used: one line with file, value and fix."""


class ImageUnavailable(ImageError):
    """The image is nowhere to be had. `command` is the one line that would provide it, `reason` why it is missing."""

    def __init__(self, runtime: str, reason: str, command: str) -> None:
        self.reason = reason
        self.command = command
        super().__init__(f"{runtime}: {reason}; provide it: {command}")


class HashMismatch(ImageError):
    """The image is not the one that is known under its name. Both hashes are in the text."""

    def __init__(self, file: str, actual: str, expected: str, known_from: str, fix: str) -> None:
        self.actual = actual
        self.expected = expected
        super().__init__(f"{file}: sha256 is {actual}, not {expected} ({known_from}); {fix}")


class FolderError(ImageError):
    """PORTBENCH_FIRMWARE_DIR names something that is no readable folder."""


class Source(StrEnum):
    """Where an image came from."""

    FOLDER = "folder"
    CACHE = "cache"
    DOWNLOAD = "download"
    FILE = "file"
    PACKAGE = "package"


@dataclass(frozen=True)
class Image:
    """An image that is here and has been checked. `path` and `sha256` are None for a hosted port."""

    entry: FirmwareEntry
    version: str
    source: Source
    path: Path | None = None
    sha256: str | None = None


class ImageStore:
    """Obtains the images of `entries`; one store per run, so that the network is asked once.

    `folder` None: PORTBENCH_FIRMWARE_DIR, if set. `cache` and `state` None: the user's folders. `offline` None:
    PORTBENCH_OFFLINE, if set to anything but 0. Raises `FolderError` for a folder that cannot be used.
    """

    def __init__(
        self,
        entries: Iterable[FirmwareEntry] = (),
        *,
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
        if offline is None:
            offline = os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0")
        self.folder = folder
        self.cache = cache or platformdirs.user_cache_path("portbench", appauthor=False) / "firmware"
        self._lock = HashLock((state or platformdirs.user_state_path("portbench", appauthor=False)) / LOCK_NAME)
        self._offline = offline
        self._progress = progress
        self._reachability = reachability or Reachability(entry.url for entry in entries if entry.url)

    def obtain(self, entry: FirmwareEntry) -> Image:
        """The image of `entry`, checked.

        Raises `ImageUnavailable` where it cannot be had, `HashMismatch` where it is another one than expected,
        `uf2.Uf2Error` where it is no image for the chip, `HashLockError` where its hash cannot be recorded.
        """
        if entry.family is Family.HOSTED:
            return Image(entry, package_version(entry), Source.PACKAGE)
        if entry.path is not None:
            return self._unlocked(entry, entry.path, Source.FILE)
        if (here := self._here(entry)) is not None:
            return self._checked(entry, *here)
        return self._download(entry)

    def at_hand(self, entry: FirmwareEntry) -> Source | None:
        """Where `obtain` would find the image of `entry` without a network, unchecked; None: nowhere."""
        if entry.family is Family.HOSTED:
            try:
                package_version(entry)
            except ImageUnavailable:
                return None
            return Source.PACKAGE
        if entry.path is not None:
            return Source.FILE if entry.path.exists() else None
        here = self._here(entry)
        return None if here is None else here[1]

    def command(self, entry: FirmwareEntry) -> str:
        """The one line that would provide the image of `entry`."""
        if entry.family is Family.HOSTED:
            return f"pip install {entry.package or entry.id}"
        target = (self.folder or self.cache) / _file(entry)
        if entry.url is None:
            return f"copy it to {target}"
        return f"curl -fL --create-dirs -o {shlex.quote(str(target))} {shlex.quote(entry.url)}"

    def _here(self, entry: FirmwareEntry) -> tuple[Path, Source] | None:
        for folder, source in ((self.folder, Source.FOLDER), (self.cache, Source.CACHE)):
            if folder is not None and (folder / _file(entry)).exists():
                return folder / _file(entry), source
        return None

    def _unlocked(self, entry: FirmwareEntry, path: Path, source: Source) -> Image:
        """Images given by path: they change with every build, so no hash is remembered."""
        data = uf2.read_bytes(path)
        uf2.parse(data, str(path))
        return Image(entry, _version(entry), source, path, hashlib.sha256(data).hexdigest())

    def _checked(self, entry: FirmwareEntry, path: Path, source: Source, shown: str | None = None) -> Image:
        """`shown` is the name that faults are told with."""
        shown = shown or str(path)
        data = uf2.read_bytes(path)
        actual = hashlib.sha256(data).hexdigest()
        if entry.sha256 is not None:
            self._compare(actual, entry.sha256, data, shown, f"the catalogue's for {entry.id}", "get the file again")
            uf2.parse(data, shown)
        else:
            # Checked before it is locked: an error page must not become the hash to insist on.
            uf2.parse(data, shown)
            seen = self._lock.see(_file(entry), actual, source)
            known_from = f"first seen {seen.first_seen_utc} in {seen.source}"
            fix = f"get the file again, or remove its entry from {self._lock.path} if the new one is right"
            self._compare(actual, seen.sha256, data, shown, known_from, fix)
        return Image(entry, _version(entry), source, path, actual)

    @staticmethod
    def _compare(actual: str, expected: str, data: bytes, shown: str, known_from: str, fix: str) -> None:
        if actual == expected:
            return
        try:
            uf2.parse(data, "it")
        except uf2.Uf2Error as error:
            known_from += f"; also {str(error).rpartition(';')[0]}"
        raise HashMismatch(shown, actual, expected, known_from, fix)

    def _download(self, entry: FirmwareEntry) -> Image:
        file, url = _file(entry), entry.url
        # By its variable, as reasons get published and the folder's own name says nothing to others.
        where = f"in ${FOLDER_VARIABLE}" if self.folder else f"in {FOLDER_VARIABLE} (not set)"
        missing = f"{file} is neither {where} nor in {self.cache}"
        command = self.command(entry)
        if url is None:
            raise ImageUnavailable(entry.id, missing, command)
        if self._offline:
            raise ImageUnavailable(entry.id, f"{missing}, and {OFFLINE_VARIABLE} forbids the download", command)
        if fault := self._reachability.fault(url):
            raise ImageUnavailable(entry.id, f"{missing}, and {fault}", command)
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.cache, prefix="incoming-") as incoming:
                fresh = download(url, Path(incoming), file, progress=self._progress)
                image = self._checked(entry, fresh, Source.DOWNLOAD, shown=url)
                final = self.cache / file
                fresh.replace(final)
        except DownloadError as error:
            raise ImageUnavailable(entry.id, f"{missing}, and {url} failed: {error}", command) from error
        except OSError as error:
            raise ImageError(f"{self.cache}: cannot be written ({error.strerror}); make it writable") from error
        return Image(entry, image.version, Source.DOWNLOAD, final, image.sha256)


def check_folder(folder: Path) -> None:
    """Raises `FolderError` unless `folder` is a readable folder."""
    try:
        next(folder.iterdir(), None)
    except FileNotFoundError as error:
        raise FolderError(f"{FOLDER_VARIABLE}={folder}: there is no such folder; create it or unset it") from error
    except NotADirectoryError as error:
        raise FolderError(f"{FOLDER_VARIABLE}={folder}: is not a folder; name the folder that holds images") from error
    except OSError as error:
        raise FolderError(f"{FOLDER_VARIABLE}={folder}: cannot be read ({error.strerror}); make it readable") from error


def package_version(entry: FirmwareEntry) -> str:
    """Version of the hosted port `entry` as installed; raises `ImageUnavailable`."""
    package = entry.package or entry.id
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise ImageUnavailable(entry.id, f"package {package} is not installed", f"pip install {package}") from error


def _file(entry: FirmwareEntry) -> str:
    if entry.file is None:
        raise ImageError(f"{entry.id}: has no file name; add the key 'file' to its entry")
    return entry.file


def _version(entry: FirmwareEntry) -> str:
    return entry.version or "unknown"
