"""The ready parts by their buses, without a board: Adafruit's drivers, and edges at exact times."""

import io
import sys
from collections.abc import Callable, Iterator
from functools import partialmethod
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Picture
from portbench_engine.devices import MS, US

from portbench.clients.libraries import library_files
from portbench.devices import PARTS, Bme280, Button, Ds18b20, HcSr04, Pir, RotaryEncoder, Sg90, Ssd1306, Tmp102, Ws2812
from portbench.testing import Board
from tests.conftest import Image, libraries_or_skip

DRIVERS = Path(__file__).with_name("drivers.toml")
FOLDER = Path(sys.modules["portbench.devices"].__path__[0])
ON_BOARD = ("hcsr04", "motor", "neopixel")
NOT_CODE = ('"""', "from ", "import ")


class Wires:
    """A board's side of a part: `run` lets time pass and wakes the part when it asks for that."""

    def __init__(self, part: Any) -> None:
        self.part, self.now_ps = part, 0
        self.edges: list[tuple[int, tuple[bool | None, ...]]] = []
        """When the part changed the levels of its pins, in picoseconds, and to what."""
        part.now_ps = 0
        part.power_up()

    def run(self, ps: int) -> None:
        until_ps = self.now_ps + ps
        while (wake_ps := self.part.wake_ps) is not None and max(wake_ps, self.now_ps) <= until_ps:
            self.now_ps = self.part.now_ps = max(wake_ps, self.now_ps)
            self.part.wake_ps = None
            self.part.wake()
            self._note()
        self.now_ps = self.part.now_ps = until_ps

    def drive(self, pin: str, high: bool, for_ps: int) -> None:
        self.part.edge(pin, high)
        self._note()
        self.run(for_ps)

    def _note(self) -> None:
        levels = tuple(getattr(self.part, pin) for pin in getattr(self.part, "pins", ()))
        if levels != (self.edges[-1][1] if self.edges else None):
            self.edges.append((self.now_ps, levels))

    # The I2C bus as Adafruit's drivers use it: each transfer takes a millisecond.
    def try_lock(self) -> bool:
        return True

    unlock = try_lock

    def writeto(self, address: int, data: bytes, *, start: int = 0, end: int | None = None) -> None:
        assert address == self.part.address
        self.run(MS)
        self.part.write(bytes(data[start:end]))

    def readfrom_into(self, address: int, into: bytearray, *, start: int = 0, end: int | None = None) -> None:
        self.run(MS)
        size = len(into[start:end])
        into[start : start + size] = bytes(self.part.read())[:size].ljust(size, b"\xff")

    def writeto_then_readfrom(self, address: int, out: bytes, into: bytearray, *, out_end: int, in_end: int) -> None:
        self.writeto(address, out, end=out_end)
        self.readfrom_into(address, into, end=in_end)


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("drivers")
    with libraries_or_skip():
        files = library_files(10, 120, pins=DRIVERS)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder / "lib")
        own: Any = SimpleNamespace(const=int, DigitalInOut=object, OneWire=OneWire)
        for name in ("digitalio", "micropython", "onewireio"):  # CircuitPython's own modules
            patch.setitem(sys.modules, name, own)
        yield


class OneWire:
    """CircuitPython's `onewireio.OneWire`: slots by the datasheet's times."""

    def __init__(self, wires: Wires) -> None:
        self.wires = wires

    def _low(self, us: int, sample_us: int, slot_us: int) -> bool:
        self.wires.drive("dq", False, us * US)
        self.wires.drive("dq", True, (sample_us - us) * US)
        high = self.wires.part.dq is not False
        self.wires.run((slot_us - sample_us) * US)
        return high

    reset = partialmethod(_low, 480, 550, 960)
    read_bit = partialmethod(_low, 6, 15, 70)

    def write_bit(self, value: bool) -> None:
        self._low(6 if value else 60, 64, 70)


def test_each_part_is_found_in_its_file_of_60_lines() -> None:
    files = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")
    assert [file.stem.replace("_", "") for file in files] == sorted(name.lower() for name in PARTS) and len(files) == 10
    for file in files:
        code = [line for line in file.read_text().splitlines() if line and not line.lstrip().startswith(NOT_CODE)]
        assert len(code) <= 60, file
    with pytest.raises(AttributeError, match=r"portbench\.devices has no part 'Tmp103'; use one of Bme280, Button, "):
        _ = sys.modules["portbench.devices"].Tmp103


def test_tmp102_by_its_datasheet() -> None:
    bus = Wires(Tmp102(celsius=-25.0))

    def read(register: int) -> int:
        bus.part.write(bytes([register]))
        return int.from_bytes(bus.part.read(), "big")

    assert (read(0), read(1), read(2), read(3)) == (0, 0x60A0, 0x4B00, 0x5000)
    bus.run(26 * MS)
    assert read(0) == 0xE700  # table 3-1: -25
    bus.part.celsius = 80.0
    bus.run(250 * MS - 1)
    assert (read(0), bus.part.interrupt) == (0xE700, False)
    bus.run(1)
    assert (read(0), read(1), bus.part.interrupt) == (0x5000, 0x6080, True)
    bus.part.celsius = 74.9
    bus.run(250 * MS)
    assert not bus.part.interrupt
    bus.part.write(b"\x01\x61\xa0")  # shutdown
    bus.part.celsius = 20.0
    bus.run(1000 * MS)
    assert (read(0), read(1)) == (0x4AE0, 0xE1A0)
    bus.part.write(b"\x01\xe1\xa0")  # one conversion
    assert read(1) == 0x61A0
    bus.run(26 * MS)
    assert (read(0), read(1)) == (0x1400, 0xE1A0)


@pytest.mark.parametrize(
    ("celsius", "pascal", "percent"), [(25.08, 100_653.27, 40.0), (-39.9, 30_000.0, 1.0), (84.5, 109_000.0, 99.0)]
)
def test_bme280_is_read_by_adafruits_driver(celsius: float, pascal: float, percent: float, drivers: None) -> None:
    bus = Wires(Bme280(celsius, pascal, percent))
    sensor = import_module("adafruit_bme280.advanced").Adafruit_BME280_I2C(bus)
    sensor.overscan_pressure = sensor.overscan_temperature = 5  # 16 samples: 20 bits
    assert sensor.temperature == pytest.approx(celsius, abs=0.003)
    assert sensor.pressure * 100 == pytest.approx(pascal, abs=0.3)
    assert sensor.relative_humidity == pytest.approx(percent, abs=0.02)
    sensor.mode = 3
    bus.part.celsius += 0.5
    bus.run(200 * MS)
    assert sensor.temperature == pytest.approx(celsius + 0.5, abs=0.003)


def test_ssd1306_shows_what_adafruits_driver_draws(drivers: None) -> None:
    bus = Wires(Ssd1306())
    display = import_module("adafruit_ssd1306").SSD1306_I2C(128, 64, bus)
    display.fill(0)
    display.line(0, 0, 127, 63, 1)
    display.pixel(3, 60, 1)
    display.show()
    lit = {(x, y) for y in range(64) for x in range(128) if bus.part.pixel(x, y)}
    assert lit == {(x, y) for y in range(64) for x in range(128) if display.pixel(x, y)} and (3, 60) in lit
    picture = Picture.open(io.BytesIO(bus.part.png()))
    assert picture.size == (128, 64) and {(x, y) for x, y in lit if picture.getpixel((x, y))} == lit
    display.rotate(False)
    display.invert(True)
    assert not bus.part.pixel(124, 3) and bus.part.pixel(123, 3)
    display.poweroff()
    assert not bus.part.pixel(123, 3)


def test_ds18b20_is_read_by_adafruits_driver(drivers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Wires(Ds18b20(celsius=-10.125, serial=0x1234))
    driver, bus = import_module("adafruit_ds18x20"), import_module("adafruit_onewire.bus").OneWireBus(wires)
    monkeypatch.setattr(driver, "time", SimpleNamespace(monotonic=lambda: wires.now_ps / 1e12))
    found = bus.scan()
    assert [bytes(each.rom) for each in found] == [wires.part.rom] and wires.part.rom.startswith(b"\x28\x34\x12")
    sensor = driver.DS18X20(bus, found[0])
    assert sensor.temperature == -10.125
    sensor.resolution = 9
    assert sensor.temperature == -10.5
    before_ps, wires.edges[:] = wires.now_ps, []
    bus.reset()
    presence = [(at - before_ps, level) for at, (level,) in wires.edges]
    assert presence == [(0, True), (510 * US, False), (630 * US, True)]


def test_hc_sr04_answers_with_the_sounds_time() -> None:
    wires = Wires(HcSr04(distance_cm=171.6))
    wires.run(MS)
    wires.drive("trig", True, 9 * US)
    wires.drive("trig", False, 100 * MS)  # too short
    assert [levels for _, levels in wires.edges] == [(None, False)]
    for distance_cm, echo_us in ((171.6, 10_000), (None, 38_000)):
        wires.part.distance_cm, wires.edges[:] = distance_cm, []
        wires.drive("trig", True, 10 * US)
        fell_ps = wires.now_ps
        wires.drive("trig", False, 100 * MS)
        begun, ended = (at - fell_ps for at, _ in wires.edges[1:])
        assert (begun, ended - begun) == (200 * US, echo_us * US)


@pytest.mark.parametrize(
    ("part", "do", "edges"),
    [
        (
            Button(bounces=1, bounce_us=50),
            lambda part: part.press(for_us=1000),
            [*((0, False), (50, None), (100, False)), *((1100, None), (1150, False), (1200, None))],
        ),
        (RotaryEncoder(edge_us=100), lambda part: part.turn(1), [(0, 0, 1), (100, 0, 0), (200, 1, 0), (300, 1, 1)]),
        (RotaryEncoder(edge_us=100), lambda part: part.turn(-1), [(0, 1, 0), (100, 0, 0), (200, 0, 1), (300, 1, 1)]),
        (Pir(hold_s=0.003), lambda part: part.move(), [(0, True), (3000, False)]),
    ],
)
def test_a_hand_makes_edges_at_their_times(part: Any, do: Callable[[Any], None], edges: list[tuple[Any, ...]]) -> None:
    wires = Wires(part)
    wires.run(MS)
    do(part)
    wires.run(10 * MS)
    assert [((at - MS) / US, *levels) for at, levels in wires.edges] == edges


def test_ws2812_takes_bits_by_their_length() -> None:
    wires = Wires(Ws2812(lights=2))
    wires.run(MS)
    for bit in f"{0x010203:024b}{0x0480FF:024b}{0xFFFFFF:024b}":
        wires.drive("data", True, (800 if bit == "1" else 400) * 1000)
        wires.drive("data", False, (450 if bit == "1" else 850) * 1000)
    wires.run(280 * US - 850_000)
    assert wires.part.updates == 0 and wires.part.colours == [(0, 0, 0)] * 2
    wires.run(400_000)
    assert wires.part.updates == 1 and wires.part.colours == [(2, 1, 3), (128, 4, 255)]


def test_sg90_turns_at_its_speed() -> None:
    wires = Wires(Sg90(angle=0.0))
    wires.run(MS)
    for _ in range(3):
        wires.drive("signal", True, 2400 * US)
        wires.drive("signal", False, 20 * MS - 2400 * US)
    assert (wires.part.pulse_us, wires.part.period_us, wires.part.target) == (2400, 20_000, 180)
    assert wires.part.angle == pytest.approx(24)  # 40 ms at 600 degrees a second


def test_pir_is_held_by_a_movement_and_blind_after_the_last() -> None:
    wires = Wires(Pir(hold_s=3, blind_s=2.5))
    for pause_s in (2, 4, 4, 0):
        wires.part.move()
        wires.run(pause_s * 1000 * MS)
    assert wires.edges == [(0, (True,)), (5000 * MS, (False,)), (10_000 * MS, (True,))]


CIRCUITPYTHON = """
import board, pwmio, time, adafruit_hcsr04, neopixel
from adafruit_motor.servo import Servo
servo = Servo(pwmio.PWMOut(board.GP7, frequency=50), min_pulse=500, max_pulse=2400)
servo.angle = 45
neopixel.NeoPixel(board.GP6, 3, brightness=1.0).fill((1, 2, 3))
print(adafruit_hcsr04.HCSR04(board.GP2, board.GP3).distance)
time.sleep(0.2)
"""


@pytest.mark.engine
def test_adafruits_drivers_on_circuitpython(make_emulated_board: Callable[..., Board], image: Image) -> None:
    board = make_emulated_board("RPI_PICO")
    with libraries_or_skip():
        drivers = library_files(9, 120, pins=DRIVERS, names=[f"adafruit-circuitpython-{x}" for x in ON_BOARD])
    board.boot(image("circuitpython-pico-9.1.4"), until="", files=drivers)
    board.attach("pins", HcSr04(distance_cm=123.4), trig_pin=2, echo_pin=3)
    strip, servo = board.attach("pins", Ws2812(lights=3), data_pin=6), board.attach("pins", Sg90(), signal_pin=7)
    assert float(board.execute(CIRCUITPYTHON)) == pytest.approx(123.4 * 34_000 / 34_320, abs=0.1)  # its speed of sound
    assert strip.colours == [(1, 2, 3)] * 3 and servo.angle == pytest.approx(45, abs=0.5)
