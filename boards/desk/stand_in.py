"""The drive of the USB boot loader on a board whose boot ROM has none: an image copied to it goes straight to flash."""

import errno
from collections.abc import Callable
from typing import Any

from portbench.boards.definition import BoardDefinition
from portbench.boards.flashed import fitting
from portbench.errors import BoardError

_INFO = "INFO_UF2.TXT"


class StandIn:
    """A `boards.desk.volume_folder.MassStorage`. `program` restarts the board with new contents of its flash."""

    def __init__(
        self, definition: BoardDefinition, flash: Callable[[], bytes], program: Callable[[bytes], None]
    ) -> None:
        self._definition = definition
        self._flash = flash
        self._program = program

    def usb(self, board: dict[str, Any]) -> dict[str, Any]:
        """Return what the PC sees; `board` is what it sees of the board itself, as `Machine.usb` has it."""
        ids = self._definition.usb.bootloader
        return {
            **board,
            "generation": board["generation"] + 1,
            "configured": True,
            "vid": ids.vid,
            "pid": ids.pid,
            "storage_ready": True,
        }

    def volume_list(self, lun: int = 0) -> list[tuple[str, bool, int]]:
        return [(_INFO, False, len(self._info))]

    def volume_label(self, lun: int = 0) -> str:
        return self._definition.volumes.bootloader

    def volume_read(self, paths: list[str], lun: int = 0) -> list[bytes]:
        return [self._info for _ in paths]

    def volume_apply(self, changes: list[tuple[str, str, bytes]], lun: int = 0) -> None:
        """Program the images among the new files. Raises OSError for one that does not fit this board."""
        for action, path, data in changes:
            if action != "write":
                continue
            try:
                image = fitting(self._definition, data, path)
            except BoardError as error:
                raise OSError(errno.EIO, str(error)) from error
            self._program(image.programmed(self._flash()))

    @property
    def _info(self) -> bytes:
        board_id = self._definition.volumes.bootloader_board_id
        return f"UF2 Bootloader v1.0\r\nModel: {self._definition.title}\r\nBoard-ID: {board_id}\r\n".encode("ascii")
