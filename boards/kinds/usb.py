"""Boards on this PC's USB."""

from portbench.boards.kinds import Kind
from portbench.where import Where

KIND = Kind(
    "a board on USB",
    "portbench.boards.usb.board:UsbBoard",
    where=Where.SILICON,
    claims=lambda wanted: wanted.is_real and wanted.board.avr is None,
)
