"""The CircuitPython modules' own rules: locks, pins, modes, slices, and the clock that SPI bytes take."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.definition import board_definition
from portbench.boards.hosted.blinka.modules import circuitpython_modules, time_module
from portbench.boards.hosted.blinka.wires import ProgramClock, Wires

BUS = board_definition("W5500_EVB_PICO").network
assert BUS is not None


class FakeLan:
    """Notes what the wires do; answers each byte with its complement."""

    def __init__(self) -> None:
        self.time_us = 0.0
        self.intn_low = False
        self.events: list[tuple[str, Any]] = []

    def advance(self, us: float) -> None:
        self.time_us += us

    def select(self, low: bool) -> None:
        self.events.append(("select", low))

    def reset_pin(self, low: bool) -> None:
        self.events.append(("reset", low))

    def transfer(self, mosi: bytes, spi_hz: int) -> bytes:
        self.time_us += len(mosi) * 8e6 / spi_hz
        self.events.append(("bytes", (mosi, spi_hz)))
        return bytes(byte ^ 0xFF for byte in mosi)


class StillClock:
    """A program that takes no time beside what it waits for."""

    def __init__(self) -> None:
        self.time_us = 0.0

    def now_us(self) -> float:
        return self.time_us

    def wait_until_us(self, time_us: float) -> None:
        self.time_us = max(self.time_us, time_us)


class Setup:
    def __init__(self) -> None:
        self.lan = FakeLan()
        self.clock = StillClock()
        modules: Any = circuitpython_modules(Wires(self.lan, BUS, self.clock))
        self.board, self.busio, self.digitalio = modules["board"], modules["busio"], modules["digitalio"]
        self.supervisor = modules["supervisor"]

    def spi(self, *, hz: int = 8_000_000) -> Any:
        spi = self.busio.SPI(self.board.GP18, MOSI=self.board.GP19, MISO=self.board.GP16)
        assert spi.try_lock()
        spi.configure(baudrate=hz)
        return spi


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_the_bus_is_only_where_the_chip_is(setup: Setup) -> None:
    with pytest.raises(ValueError, match=r"^busio.SPI: MISO=board.GP0: the W5500 is on board.GP16$"):
        setup.busio.SPI(setup.board.GP18, MOSI=setup.board.GP19, MISO=setup.board.GP0)
    with pytest.raises(ValueError, match="MOSI=None"):
        setup.busio.SPI(setup.board.GP18)


def test_needs_the_lock(setup: Setup) -> None:
    spi = setup.spi()
    assert not spi.try_lock()
    spi.unlock()
    uses: list[Callable[[], object]] = [
        lambda: spi.write(b"x"),
        lambda: spi.readinto(bytearray(1)),
        lambda: spi.configure(baudrate=1),
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="requires lock"):
            use()
    with spi:
        assert spi.try_lock()
    assert spi.try_lock()


def test_refuses_what_the_chip_cannot_take(setup: Setup) -> None:
    spi = setup.spi()
    spi.configure(baudrate=14_000_000, polarity=1, phase=1)
    assert spi.frequency == 14_000_000
    for bad in ({"polarity": 1}, {"phase": 1}, {"bits": 9}, {"baudrate": 0}):
        with pytest.raises(ValueError, match=r"^busio.SPI: .*use "):
            spi.configure(**bad)
    assert spi.frequency == 14_000_000


def test_bytes_take_their_time(setup: Setup) -> None:
    spi = setup.spi(hz=2_000_000)
    spi.write(bytes(100))
    assert setup.clock.time_us == setup.lan.time_us == 400
    assert setup.supervisor.ticks_ms() == 2**29 - 65536
    setup.clock.time_us = 2_000_000.0
    spi.write(b"\0")  # the LAN has followed the program's two seconds
    assert setup.lan.time_us == 2_000_004 and setup.supervisor.ticks_ms() == 2**29 - 65536 + 2000
    setup.clock.time_us = 65_537_000.0
    assert setup.supervisor.ticks_ms() == 1


@given(
    st.binary(max_size=12),
    st.integers(-14, 14),
    st.integers(-14, 14) | st.none(),
    st.integers(0, 255),
)
def test_slices_are_pythons(data: bytes, start: int, end: int | None, fill: int) -> None:
    setup = Setup()
    spi = setup.spi()
    bounds = {"start": start} if end is None else {"start": start, "end": end}
    spi.write(data, **bounds)
    (_, (sent, _)) = setup.lan.events[-1]
    assert sent == data[start:end]
    buffer = bytearray(data)
    spi.readinto(buffer, write_value=fill, **bounds)
    chosen = range(len(data))[start:end]
    expected = bytes(fill ^ 0xFF if index in chosen else byte for index, byte in enumerate(data))
    assert buffer == expected


def test_exchanges_both_ways(setup: Setup) -> None:
    spi = setup.spi()
    answer = bytearray(b"....")
    spi.write_readinto(b"\x01\x02\x03", answer, out_start=1, in_start=1, in_end=3)
    assert answer == b".\xfd\xfc."
    with pytest.raises(ValueError, match="writes 3 bytes and reads 4"):
        spi.write_readinto(b"\x01\x02\x03", answer)


def test_pins_are_wires(setup: Setup) -> None:
    chip_select = setup.digitalio.DigitalInOut(setup.board.GP17)
    with pytest.raises(AttributeError):
        chip_select.value = True
    chip_select.switch_to_output(value=True)
    chip_select.value = False
    reset = setup.digitalio.DigitalInOut(setup.board.GP20)
    reset.direction = setup.digitalio.Direction.OUTPUT
    assert (chip_select.value, reset.value) == (False, False)
    reset.deinit()
    led = setup.digitalio.DigitalInOut(setup.board.GP25)
    led.switch_to_output(value=True)
    assert setup.lan.events == [("select", False), ("select", True), ("reset", True), ("reset", False)]


def test_the_interrupt_pin_is_read(setup: Setup) -> None:
    interrupt = setup.digitalio.DigitalInOut(setup.board.GP21)
    assert interrupt.value and interrupt.direction is setup.digitalio.Direction.INPUT
    setup.lan.intn_low = True
    assert not interrupt.value
    assert setup.digitalio.DigitalInOut(setup.board.GP2).value


def test_time_that_a_script_waits_for_passes_at_once() -> None:
    clock = ProgramClock()
    module = time_module(clock)
    before = module.monotonic_ns()
    module.sleep(1000)
    assert module.monotonic_ns() - before >= 1000 * 10**9
    at = clock.now_us()
    clock.wait_until_us(at - 1e6)  # it has passed
    assert at <= clock.now_us()


@pytest.mark.engine
def test_time_in_which_the_process_is_stopped_does_not_pass(tmp_path: Path) -> None:
    """Else chip and LAN would be far ahead between two reads of a driver that polls them in between."""
    script = tmp_path / "code.py"
    script.write_text(
        "import os, signal, time\n"
        "before = time.monotonic_ns()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
        "print(time.monotonic_ns() - before)\n"
    )
    settings = {"ethernet": asdict(BUS), "workload": None, "settings": {}, "port": 5000}
    settings["network"] = {"turnaround_us": 200}
    command = [sys.executable, "-P", "-m", "portbench.boards.hosted.blinka", str(script), json.dumps(settings)]
    with subprocess.Popen([*command, str(tmp_path / "record")], stdout=subprocess.PIPE, text=True) as process:
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        before = time.monotonic_ns()
        time.sleep(0.5)
        stopped_ns = time.monotonic_ns() - before
        process.send_signal(signal.SIGCONT)
        passed_ns, _ = process.communicate(timeout=60)
    assert int(passed_ns) < stopped_ns
