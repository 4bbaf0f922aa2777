"""Devices in Python on the buses of the board that tests get."""

import re
import shutil
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from portbench_engine.devices import I2cDevice, PinDevice, SpiDevice, UartDevice

from portbench.boards import BoardUnavailable
from portbench.boards.definition import BOARDS_VARIABLE, DEFINITIONS
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.testing import Board, NothingCame
from tests.boards.emulated.guests import (
    CHARACTER_US,
    GP25_DRIVEN,
    I2C_READ,
    I2C_RESTART,
    I2C_STOP,
    i2c_transfers,
    poking,
    spi_frame,
    uart_echo,
)
from tests.conftest import Image
from tests.dead_images import banner, build
from tests.testing.conftest import PROJECT, RunTests

pytestmark = pytest.mark.engine
Make = Callable[..., Board]
PAGE = (PROJECT / "docs" / "attaching-a-device.md").read_text(encoding="utf-8")
SENSOR, FLASH, LAMP = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(TOML,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PIN_NAMES = {"sck_pin": 2, "mosi_pin": 3, "miso_pin": 4, "csn_pin": 5}


class Counter(I2cDevice):
    """Counts its reads, and notes what it gets and when."""

    address = 0x48

    def __init__(self) -> None:
        self.seen: list[tuple[int, bytes | None]] = []
        self.reads = 0

    def write(self, data: bytes) -> None:
        self.seen.append((self.now_ps, data))

    def read(self) -> Iterable[int]:
        self.reads += 1
        return self._bytes()

    def _bytes(self) -> Generator[int]:
        yield self.reads
        self.seen.append((self.now_ps, None))
        yield 7


def two_transfers(address: int = 0x48) -> bytes:
    """A register is written, three bytes are read from it; then a write of two bytes."""
    reads = [I2C_READ | I2C_RESTART, I2C_READ, I2C_READ | I2C_STOP]
    return uf2.build(i2c_transfers(address, [0x0F, *reads, 0x10, 0x20 | I2C_STOP]))


def i2c_board(make: Make, device: I2cDevice) -> Board:
    board = make("RPI_PICO")
    board.attach("i2c0", device, sda_pin="GP4", scl_pin=5)
    return board


def test_an_i2c_device_sees_the_same_transfers_in_two_runs(make_emulated_board: Make) -> None:
    runs = []
    for _ in range(2):
        device = Counter()
        board = i2c_board(make_emulated_board, device)
        uart = board.uart(0)
        board.flash(two_transfers())
        uart.expect(b"\x01\x07\xff", within_s=1)
        board.run(0.01)
        assert [data for _, data in device.seen] == [b"\x0f", None, b"\x10\x20"]
        runs.append((device.seen, board.time_us))
    assert runs[0] == runs[1] and runs[0][0][0][0] < runs[0][0][1][0] < runs[0][0][2][0]


def test_a_device_stays_attached_over_a_power_cycle_and_is_told(make_emulated_board: Make) -> None:
    class Forgetful(Counter):
        def power_up(self) -> None:
            self.reads = 10

    device = Forgetful()
    board = i2c_board(make_emulated_board, device)
    uart = board.uart(0)
    board.flash(two_transfers())
    uart.expect(b"\x0b\x07\xff", within_s=1)
    board.power_cycle()
    uart.expect(b"\x0b\x07\xff", within_s=1)


def test_a_device_that_does_not_acknowledge_gets_no_transfer(make_emulated_board: Make) -> None:
    class Busy(Counter):
        def acknowledges(self) -> bool:
            return False

    for device, image in ((Busy(), two_transfers()), (Counter(), two_transfers(0x49))):
        board = i2c_board(make_emulated_board, device)
        board.flash(image)
        board.run(0.05)
        assert device.seen == [] and device.reads == 0 and board.fault is None


def test_an_exception_of_a_device_ends_the_wait_and_is_its_cause(make_emulated_board: Make) -> None:
    class Broken(Counter):
        def write(self, data: bytes) -> None:
            raise ZeroDivisionError(f"no scale in {data.hex()}")

    board = i2c_board(make_emulated_board, Broken())
    board.flash(two_transfers())
    with pytest.raises(NothingCame, match="the device Broken failed: ZeroDivisionError: no scale in 0f") as failed:
        board.run(1)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert failed.value.__cause__.__traceback__ is not None


def test_a_device_cannot_call_its_own_board(make_emulated_board: Make) -> None:
    class Curious(Counter):
        def write(self, data: bytes) -> None:
            assert board.pin(3).level

    board = i2c_board(make_emulated_board, Curious())
    board.flash(two_transfers())
    with pytest.raises(BaseException, match="a device called its own board: do so outside of its callbacks"):
        board.run(1)
    assert board.time_us > 0
    with pytest.raises(BaseException, match=r"the engine has panicked in this machine: only power_cycle\(\) goes on"):
        board.run(1)
    board.power_cycle()
    assert not board.pin(3).level


def test_a_device_of_either_board_of_a_pair_ends_the_wait(make_emulated_board: Make) -> None:
    class Broken(Counter):
        def wake(self) -> None:
            raise ZeroDivisionError

    for broken, waiting in ((0, 0), (0, 1), (1, 0), (1, 1)):
        boards = make_emulated_board(), make_emulated_board(flash_id=2)
        boards[1].join(boards[0])
        device = boards[broken].attach("i2c0", Broken(), sda_pin=4, scl_pin=5)
        boards[waiting].run(0.001)
        assert boards[waiting].fault is None
        device.wake_ps = 2_000_000_000
        boards[broken].attach("i2c1", device, sda_pin=6, scl_pin=7)
        with pytest.raises(NothingCame, match="the device Broken failed: ZeroDivisionError"):
            boards[waiting].run(1)


def test_a_device_wakes_at_its_time_and_drives_its_interrupt_pin(make_emulated_board: Make) -> None:
    class Alarm(Counter):
        def power_up(self) -> None:
            self.wake_ps = 20_000_000_000

        def wake(self) -> None:
            self.interrupt = not self.interrupt
            self.wake_ps = self.now_ps + 5_000_000_000 if self.interrupt else None

    board = make_emulated_board("RPI_PICO")
    pin = board.pin("GP6")
    board.attach("i2c0", Alarm(), sda_pin=4, scl_pin=5, intn_pin=6)
    board.run(0.1)
    assert [(round(edge.time_us), edge.high) for edge in pin.edges] == [(0, True), (20_000, False), (25_000, True)]


@pytest.mark.parametrize("earlier_ps", [0, 1])
def test_a_device_cannot_stop_simulated_time(earlier_ps: int, make_emulated_board: Make) -> None:
    class Still(Counter):
        def power_up(self) -> None:
            self.wake_ps = 20_000_000_000

        def wake(self) -> None:
            self.wake_ps = self.now_ps - earlier_ps

    board = make_emulated_board("RPI_PICO")
    board.attach("i2c0", Still(), sda_pin=4, scl_pin=5)
    said = f"the device Still failed: ValueError: wake() set wake_ps to {20_000_000_000 - earlier_ps} at 20000000000; "
    with pytest.raises(NothingCame, match=re.escape(said)):
        board.run(0.1)


def test_an_spi_device_sees_a_frame(make_emulated_board: Make) -> None:
    frames: list[bytes] = []

    class Id(SpiDevice):
        def frame(self) -> Generator[int, int, None]:
            taken = []
            try:
                taken.append((yield 0x55))
                for byte in b"\xef\x40":
                    taken.append((yield byte))
            finally:
                frames.append(bytes(taken))

    board = make_emulated_board("RPI_PICO")
    board.attach("spi0", Id(), **PIN_NAMES)
    uart = board.uart(0)
    board.flash(uf2.build(spi_frame(b"\x9f\x00\x01\x02")))
    uart.expect(b"\x55\xef\x40\xff", within_s=1)
    assert frames == [b"\x9f\x00\x01"]


def test_a_frame_that_is_cut_short_is_closed(make_emulated_board: Make) -> None:
    ended: list[int] = []

    class Endless(SpiDevice):
        def frame(self) -> Generator[int, int, None]:
            count = 0
            try:
                while True:
                    yield count
                    count += 1
            finally:
                ended.append(count)

    board = make_emulated_board("RPI_PICO")
    board.attach("spi0", Endless(), **PIN_NAMES)
    uart = board.uart(0)
    board.flash(uf2.build(spi_frame(bytes(5))))
    uart.expect(b"\x00\x01\x02\x03\x04", within_s=1)
    assert ended == [5]


def test_a_uart_device_talks_to_the_board(make_emulated_board: Make) -> None:
    class Modem(UartDevice):
        baud = 115_200

        def __init__(self) -> None:
            self.heard: list[tuple[int, bytes]] = []

        def power_up(self) -> None:
            self.wake_ps = 50_000_000_000

        def wake(self) -> bytes:
            return b"HAL"

        def receive(self, data: bytes) -> bytes | None:
            self.heard.append((self.now_ps, data))
            return b"A" if data == b"M" else None

    board, modem = make_emulated_board("RPI_PICO"), Modem()
    board.attach("uart0", modem, tx_pin=0, rx_pin=1)
    board.flash(uf2.build(uart_echo()))
    board.run(0.1)
    assert b"".join(data for _, data in modem.heard) == b"IBMB"
    first, second = (at for at, _ in modem.heard[:2])
    assert first > 50_000_000_000 and 10 * 10**12 // 115_200 <= second - first < (CHARACTER_US + 20) * 10**6


def test_a_device_on_pins_answers_edges_at_their_picosecond(make_emulated_board: Make) -> None:
    names: dict[str, type[PinDevice]] = {}
    exec(LAMP, names)
    board = make_emulated_board("RPI_PICO")
    device: Any = board.attach("pins", names["Lamp"](), lamp_pin=25, lit_pin="GP14")
    lamp, lit = board.pin("GP25"), board.pin("GP14")
    lit.hold("high")
    high, low = (0xD000_0014, 1 << 25), (0xD000_0018, 1 << 25)
    board.flash(build(poking(*GP25_DRIVEN, high, low, high, low), banner(Family.MICROPYTHON)))
    board.run(0.1)
    assert [(edge.time_ps, not edge.high) for edge in lit.edges][-4:] == [(e.time_ps, e.high) for e in lamp.edges][-4:]
    for change, level in ((lambda: vars(device).update(lit=False), False), (lambda: device.later(0, lit=None), True)):
        before_ps = board.time_ps
        change()
        board.run(0.001)
        assert lit.level is level and lit.edges[-1].time_ps - before_ps < 1_000_000
    with pytest.raises(ValueError, match="the device on pins has no led_pin: use lamp_pin, lit_pin"):
        board.attach("pins", device, led_pin=25)


def test_what_cannot_be_attached_is_one_line(emulated_board: Board) -> None:
    with pytest.raises(ValueError, match=r"^bus \"can0\": use i2c0, i2c1, spi0, spi1, uart0, uart1 or pins$"):
        emulated_board.attach("can0", Counter())
    with pytest.raises(ValueError, match=r"^the device on i2c0: scl_pin is missing; give its GPIO number$"):
        emulated_board.attach("i2c0", Counter(), sda_pin=4)
    with pytest.raises(
        ValueError, match="the device on i2c0 has no tx_pin: use sda_pin, scl_pin, rstn_pin and intn_pin"
    ):
        emulated_board.attach("i2c0", Counter(), sda_pin=4, scl_pin=5, tx_pin=0)
    with pytest.raises(ValueError, match="'GP30' is not a pin"):
        emulated_board.attach("i2c0", Counter(), sda_pin="GP30", scl_pin=5)


def test_a_boards_file_names_a_device(
    make_emulated_board: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board_file = tmp_path / "MY_PICO.toml"
    text = (DEFINITIONS / "RPI_PICO.toml").read_text().replace('aliases = ["', 'aliases = ["my-')
    board_file.write_text(re.sub(r"(aliases = ).*", r'\1["my-pico"]', text) + TOML)
    monkeypatch.setenv(BOARDS_VARIABLE, str(board_file))
    with pytest.raises(BoardUnavailable, match=r"thermometer\.py:Thermometer: cannot make the device"):
        make_emulated_board("MY_PICO")
    (tmp_path / "thermometer.py").write_text(SENSOR)
    board = make_emulated_board("MY_PICO")
    uart = board.uart(0)
    board.flash(uf2.build(i2c_transfers(0x48, [0, I2C_READ | I2C_RESTART, I2C_READ | I2C_STOP])))
    uart.expect((344 << 4).to_bytes(2, "big"), within_s=1)


def test_the_pages_sensor(project: Path, run_tests: RunTests, image: Image) -> None:
    assert len([line for line in SENSOR.splitlines() if line]) <= 20
    (project / "test_sensor.py").write_text(SENSOR)
    shutil.copy(image("micropython-1.26.0"), project / "micropython.uf2")
    done = run_tests("-q")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_pages_flash_is_read_by_micropython(make_emulated_board: Make, image: Image) -> None:
    names: dict[str, type[SpiDevice]] = {}
    exec(FLASH, names)
    board = make_emulated_board("RPI_PICO")
    board.attach("spi0", names["Flash"](), **PIN_NAMES)
    board.flash(image("micropython-1.26.0"))
    code = """
from machine import Pin, SPI
spi, cs = SPI(0, sck=Pin(2), mosi=Pin(3), miso=Pin(4)), Pin(5, Pin.OUT, value=1)
cs(0); spi.write(b"\\x9f"); print(spi.read(4).hex()); cs(1)
"""
    assert board.execute(code) == "ef4015ff\r\n"
