"""A different image for each cycle of a soak, so that each cycle flashes."""

from __future__ import annotations

import re
from pathlib import Path

from portbench.boards import BoardDefinition
from portbench.firmware import uf2
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.identify import Uf2File, entry_for_file
from portbench.runner.checks.soak.dead_images import DeadImage, write
from portbench.runner.program import image_store

_STAMP_OFFSET = 0xFF000
"""Flash that neither MicroPython nor CircuitPython runs from: between the firmware and the file system (CircuitPython
keeps its `microcontroller.nvm` there)."""


class ImageMaker:
    """Images of `entry` that differ by a stamp. The native client's differ by their settings anyway."""

    def __init__(self, entry: FirmwareEntry, board: BoardDefinition, folder: Path) -> None:
        self._entry = entry
        self._board = board
        self._folder = folder
        image = image_store([entry]).obtain(entry).path
        self._image = None if entry.family.traits.client_in_image or image is None else uf2.read(image)

    def entry_for(self, number: int, dead: DeadImage | None = None) -> FirmwareEntry:
        """The entry of cycle `number`'s image; `dead`: of one that only claims to be the runtime."""
        if dead is None and self._image is None:
            return self._entry
        path = self._folder / f"{number}.uf2"
        if dead is not None:
            write(path, dead, self._entry.family, re.sub(r"[^0-9.].*", "", self._entry.version or ""))
        else:
            assert self._image is not None
            stamp = b"portbench soak %d" % number
            path.write_bytes(uf2.with_data(self._image, uf2.FLASH_BASE + _STAMP_OFFSET, stamp))
        return entry_for_file(
            Uf2File.read(path), family=self._entry.family, board=self._board.id, version=self._entry.version
        )
