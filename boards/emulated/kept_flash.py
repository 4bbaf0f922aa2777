"""Contents of flash that emulated boards start with, in place of flashing an image and copying files a second time.

A measured run starts from a power cycle, so all that it knows of the time before is what flash holds. That depends on
the image, the files, the board's settings and boot ROM, the engine and this package, and is kept under a hash of all.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

import portbench_engine._native as engine
from platformdirs import user_cache_path

from portbench.boards.board import RuntimeIdentity
from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.config import EmulatedConfig, engine_settings
from portbench.boards.registry import KEPT_FLASH_VARIABLE
from portbench.files import replace_file
from portbench.firmware.boot_roms import boot_rom

_MOST_FILES: Final = 100


def usual_folder() -> Path | None:
    """The folder that the environment variable names; None where it is empty. Without it, one in the user's cache."""
    named = os.environ.get(KEPT_FLASH_VARIABLE)
    if named is None:
        return user_cache_path("portbench", appauthor=False) / "flash"
    return Path(named) if named else None


@dataclass(frozen=True)
class Kept:
    """`contents` of the whole flash. `identity`: what the image in it calls itself; None where it was not asked."""

    contents: bytes
    identity: RuntimeIdentity | None


class KeptFlash:
    """The contents in `folder` for one kind of board; without a folder, none. Several processes may use it at once."""

    def __init__(self, folder: Path | None, definition: BoardDefinition, config: EmulatedConfig) -> None:
        self._folder = folder
        self._definition = definition
        # The network is first used in the measured run.
        self._config = replace(
            config, turnaround_us=0, phy_link_delay_us=0, pc_ip=IPv4Address(0), server_port=1, seed=0
        )

    @cached_property
    def _board(self) -> str:
        rom = sha256(boot_rom(self._definition.mcu)).hexdigest()
        return repr((_tools(), rom, self._definition.id, engine_settings(self._definition), self._config))

    def read(self, image: str, files: Mapping[str, bytes] | None = None) -> Kept | None:
        """Return what a board held after the first boot of `image`, a hash, and the copy of `files`; None: not kept."""
        path = self._path(image, files)
        if path is None:
            return None
        try:
            head, body = path.read_bytes().split(b"\n", 1)
            told = json.loads(head)
            kept = Kept(zlib.decompress(body), None if told is None else RuntimeIdentity(**told))
        except (OSError, ValueError, TypeError, zlib.error):  # there is none, or another version wrote it
            return None
        with contextlib.suppress(OSError):
            path.touch()
        return kept

    def write(self, kept: Kept, image: str, files: Mapping[str, bytes] | None = None) -> None:
        """Keep contents; the next boards flash and copy anew where that fails."""
        path = self._path(image, files)
        if path is None:
            return
        head = json.dumps(None if kept.identity is None else asdict(kept.identity)).encode()
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, head + b"\n" + zlib.compress(kept.contents, 1), synced=False)
            for old in sorted(path.parent.glob("*.flash"), key=lambda each: each.stat().st_mtime)[:-_MOST_FILES]:
                old.unlink(missing_ok=True)

    def _path(self, image: str, files: Mapping[str, bytes] | None) -> Path | None:
        if self._folder is None:
            return None
        copied = None if files is None else sorted(files.items())
        return self._folder / f"{sha256(repr((self._board, image, copied)).encode()).hexdigest()}.flash"


@cache
def _tools() -> str:
    """A hash of the programs that flash and copy."""
    digest = sha256(version("mpremote").encode())
    for path in [Path(str(engine.__file__)), *sorted(Path(__file__).parents[1].rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
