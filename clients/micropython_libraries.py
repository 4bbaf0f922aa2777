"""Drivers of micropython-lib for the board: pinned files, checked by hash, given by the user or kept in the cache."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from portbench.errors import PortbenchError

PINS = Path(__file__).with_name("micropython_libraries.toml")
FOLDER_VARIABLE = "PORTBENCH_FIRMWARE_DIR"
OFFLINE_VARIABLE = "PORTBENCH_OFFLINE"


@dataclass(frozen=True)
class Driver:
    """One pinned file."""

    name: str
    version: str
    file: str
    url: str
    sha256: str


def pinned_drivers(path: Path = PINS) -> dict[str, Driver]:
    """All of them, by name."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["libraries"]
    return {entry["name"]: Driver(**entry) for entry in entries}


def driver_files(
    names: Collection[str], timeout_s: float, *, cache: Path | None = None, pins: Path = PINS
) -> dict[str, bytes]:
    """The contents of the drivers by path on the board, downloaded within `timeout_s`. Raises PortbenchError."""
    known = pinned_drivers(pins)
    cache = cache or user_cache_path("portbench") / "micropython"
    files: dict[str, bytes] = {}
    for name in names:
        if name not in known:
            raise PortbenchError(f"{name}: {pins.name} pins {', '.join(known)} only; add it there")
        driver = known[name]
        files[driver.file] = _content(driver, cache, timeout_s)
    return files


def _content(driver: Driver, cache: Path, timeout_s: float) -> bytes:
    folder = os.environ.get(FOLDER_VARIABLE)
    for path in (*([Path(folder, driver.file)] if folder else []), cache / driver.file):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise PortbenchError(f"{path}: cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() == driver.sha256:
            return content
        if path.parent != cache:
            raise PortbenchError(f"{path}: is not {driver.name} {driver.version} as pinned; take it from {driver.url}")
    return _download(driver, cache, timeout_s)


def _download(driver: Driver, cache: Path, timeout_s: float) -> bytes:
    from portbench.firmware.download import download

    wanted = f"{driver.file}: micropython-lib's driver"
    give = f"put it into the folder of {FOLDER_VARIABLE}, from {driver.url}"
    if os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0"):
        raise PortbenchError(f"{wanted} is not at hand, and {OFFLINE_VARIABLE} is set; {give}")
    (cache / driver.file).unlink(missing_ok=True)
    try:
        content = download(driver.url, cache, driver.file, limit_s=timeout_s).read_bytes()
    except (PortbenchError, OSError) as error:
        raise PortbenchError(f"{wanted} is not at hand and could not be downloaded ({error}); {give}") from None
    if hashlib.sha256(content).hexdigest() != driver.sha256:
        (cache / driver.file).unlink(missing_ok=True)
        raise PortbenchError(f"{driver.url}: is not {driver.name} {driver.version} as pinned")
    return content
