"""The backend `portbench` of mpflash: it flashes real boards and those of desks as `portbench flash --device` does."""

from contextlib import suppress
from pathlib import Path

from loguru import logger as log
from mpflash.flash.base import FlashBackend
from mpflash.flash.builtins.uf2.erase import erase_filesystem
from mpflash.flash.context import FlashContext, FlashResult, Platform, Reason
from mpflash.mpremoteboard import MPRemoteBoard

from portbench.boards import known_boards
from portbench.boards.kinds import Listener
from portbench.boards.usb.discovery import AttachedBoard, listing
from portbench.errors import PortbenchError
from portbench.runner.flashing import flash
from portbench.runner.options import read_options


class PortbenchBackend(FlashBackend):
    name = "portbench"
    supported_ports = frozenset({"rp2"})
    supported_formats = (".uf2",)
    priority = 20  # above that of mpflash's own backend for UF2, which finds no emulated board

    def supports(self, mcu: MPRemoteBoard, fw_file: Path, platform: Platform) -> Reason | None:
        if mcu.board not in known_boards() or _board_at(mcu.serialport) is None:
            return Reason("other", f"portbench finds no {mcu.board or 'known board'} at {mcu.serialport}")
        return super().supports(mcu, fw_file, platform)

    def flash(self, ctx: FlashContext) -> FlashResult:
        mcu = ctx.mcu
        if (board := _board_at(mcu.serialport)) is None:
            return FlashResult(False, backend=self.name, message=f"no board at {mcu.serialport}; plug it in")
        if ctx.erase and not erase_filesystem(mcu):
            log.warning(f"{mcu.serialport}: the file system could not be erased; flashing without that")
        asked = {"runtime": str(ctx.fw_file), "board": mcu.board, "device": board.selector}
        ask_bootsel = "hold BOOTSEL and plug the board in, {:.0f} s left".format
        try:
            done = flash(read_options(asked), 0.0, Listener(log.info, lambda left_s: log.warning(ask_bootsel(left_s))))
        except PortbenchError as error:
            return FlashResult(False, backend=self.name, message=str(error))
        log.success(done.lines[0])
        again = next((each for each in listing(ask=False) if each.selector == board.selector), board)
        mcu.serialport = again.device.port or mcu.serialport
        with suppress(ConnectionError):  # an image without a Python prompt
            mcu.get_mcu_info()
        return FlashResult(done.alive, mcu, self.name)


def _board_at(place: str) -> AttachedBoard | None:
    """The attached board with this serial port, a link to the port, or this drive."""
    for board in listing(ask=False):
        if Path(place).resolve() in {Path(at).resolve() for at in (board.device.port, board.device.volume) if at}:
            return board
    return None
