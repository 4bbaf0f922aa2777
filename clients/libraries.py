"""Libraries that a client needs on its board: pinned files, checked by hash, and kept in the user's cache."""

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from platformdirs import user_cache_path

from portbench.errors import LibraryUnavailable, PortbenchError, Unsupported
from portbench.files import replace_file
from portbench.firmware import FOLDER_VARIABLE
from portbench.firmware.download import download
from portbench.firmware.images import OFFLINE_VARIABLE

NEWEST_MAJOR = 10
"""The newest CircuitPython in the pins: its libraries also run over Blinka."""
PINS = Path(__file__).with_name("circuitpython_libraries.toml")
DRIVER_PINS = Path(__file__).with_name("micropython_libraries.toml")


@dataclass(frozen=True)
class Library:
    """One pinned wheel; `modules` are the packages (folders) or modules (`.py` files) that go to lib/."""

    name: str
    version: str
    majors: tuple[int, ...]
    modules: tuple[str, ...]
    sha256: str

    @property
    def wheel(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


def pinned_libraries(major: int, path: Path = PINS, names: Collection[str] | None = None) -> list[Library]:
    """The libraries that CircuitPython `major` needs with a network, or those of `names`.

    Raises Unsupported for a major without pinned libraries.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["libraries"]
    every = [
        Library(e["name"], e["version"], tuple(e["majors"]), tuple(e["modules"]), e["sha256"].lower()) for e in entries
    ]
    asked = {each["name"] for each in entries if names is None and not each.get("on_request", False)} | set(names or ())
    wanted = [library for library in every if major in library.majors and library.name in asked]
    if lacking := sorted(asked - {library.name for library in wanted}):
        name = lacking[0]
        known = ", ".join(
            str(m) for m in sorted({m for library in every if library.name == name for m in library.majors})
        )
        raise Unsupported(f"CircuitPython {major}: {path.name} pins {name} for {known} only; add {major} to it")
    return wanted


def library_files(
    major: int,
    timeout_s: float,
    cache: Path | None = None,
    pins: Path = PINS,
    names: Collection[str] | None = None,
) -> dict[str, bytes]:
    """The files of CircuitPython's libraries for `major`, or of those in `names`, by path on the board (`lib/...`).

    Wheels come from the cache, else from pip within `timeout_s`. Raises PortbenchError; LibraryUnavailable without one.
    """
    cache = cache or user_cache_path("portbench") / "circuitpython"
    files: dict[str, bytes] = {}
    for library in pinned_libraries(major, pins, names):
        files |= _modules(library, _wheel_bytes(library, cache, timeout_s))
    return files


def _wheel_bytes(library: Library, cache: Path, timeout_s: float) -> bytes:
    path = cache / library.wheel
    if path.is_file():
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == library.sha256:
            return content
    content = _download_wheel(library, timeout_s)
    cache.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
    return content


def _download_wheel(library: Library, timeout_s: float) -> bytes:
    """The wheel, by pip: it checks the hash and knows the user's index settings."""
    wanted = f"{library.name}=={library.version}"
    with tempfile.TemporaryDirectory(prefix="portbench-pip-") as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text(f"{wanted} --hash=sha256:{library.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--no-deps", "--only-binary=:all:", "--require-hashes", "--retries=1", "--dest", folder]
        try:
            done = subprocess.run(
                [*command, "-r", str(requirements)], capture_output=True, text=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise LibraryUnavailable(f"{wanted}: pip still downloads after {timeout_s:g} s; run once online") from None
        wheel = Path(folder, library.wheel)
        if done.returncode != 0 or not wheel.is_file():
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip gave no wheel"]
            raise LibraryUnavailable(
                f"{wanted}: needed in the board's lib/, not in the cache, and pip could not download it: {said[0]}"
            )
        return wheel.read_bytes()


def _modules(library: Library, wheel: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        files = {
            f"lib/{name}": archive.read(name)
            for name in archive.namelist()
            if name in library.modules or (name.split("/")[0] in library.modules and name.endswith(".py"))
        }
    found = {name.split("/")[1] for name in files}
    missing = [module for module in library.modules if module not in found]
    if missing:
        raise PortbenchError(f"{library.wheel}: has no {', '.join(missing)}; correct modules in {PINS.name}")
    return files


@dataclass(frozen=True)
class Driver:
    """One pinned file of a public repository."""

    name: str
    version: str
    file: str
    url: str
    sha256: str


def pinned_drivers(path: Path = DRIVER_PINS) -> dict[str, Driver]:
    """All drivers, by name."""
    pins = tomllib.loads(path.read_text(encoding="utf-8"))
    drivers = [Driver(**entry) for entry in pins["libraries"]]
    for folder in pins.get("folders", []):
        for file, sha256 in folder["sha256"].items():
            name = f"{folder['name']}/{file.removesuffix('.py')}"
            on_board = f"{folder['into']}/{file}" if "into" in folder else file
            drivers.append(Driver(name, folder["version"], on_board, folder["url"] + file, sha256))
    return {driver.name: driver for driver in drivers}


def driver_files(
    names: Collection[str], timeout_s: float, *, cache: Path | None = None, pins: Path = DRIVER_PINS
) -> dict[str, bytes]:
    """The contents of the drivers by path on the board, downloaded within `timeout_s`. Raises PortbenchError;
    LibraryUnavailable without one."""
    known = pinned_drivers(pins)
    cache = cache or user_cache_path("portbench") / "micropython"
    files: dict[str, bytes] = {}
    for name in names:
        if name not in known:
            raise PortbenchError(f"{name}: {pins.name} pins {', '.join(known)} only; add it there")
        driver = known[name]
        files[driver.file] = pinned_content(driver, cache, timeout_s)
    return files


def pinned_content(driver: Driver, cache: Path, timeout_s: float) -> bytes:
    """Its content from the user's folder of firmware, from `cache`, or downloaded. Raises as `driver_files`."""
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
    return _download_driver(driver, cache, timeout_s)


def _download_driver(driver: Driver, cache: Path, timeout_s: float) -> bytes:
    wanted = driver.file
    give = f"put it into the folder of {FOLDER_VARIABLE}, from {driver.url}"
    if os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0"):
        raise LibraryUnavailable(f"{wanted} is not at hand, and {OFFLINE_VARIABLE} is set; {give}")
    (cache / driver.file).unlink(missing_ok=True)
    try:
        kept = cache / driver.file
        content = download(driver.url, kept.parent, kept.name, limit_s=timeout_s).read_bytes()
    except (PortbenchError, OSError) as error:
        raise LibraryUnavailable(f"{wanted} is not at hand and could not be downloaded ({error}); {give}") from None
    if hashlib.sha256(content).hexdigest() != driver.sha256:
        (cache / driver.file).unlink(missing_ok=True)
        raise PortbenchError(f"{driver.url}: is not {driver.name} {driver.version} as pinned")
    return content
