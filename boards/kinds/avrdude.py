"""Boards with an ATmega behind a USB bridge."""

from portbench.boards.kinds import Kind
from portbench.where import Where

KIND = Kind(
    "a board on a USB bridge",
    "portbench.boards.usb.avrdude:AvrdudeBoard",
    where=Where.SILICON,
    claims=lambda wanted: wanted.is_real and wanted.board.avr is not None,
)
