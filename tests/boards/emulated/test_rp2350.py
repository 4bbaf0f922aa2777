"""Boards with an RP2350 are rows like others: flashed, deployed, measured, and the same each time."""

import os
from pathlib import Path

import pytest
from portbench_engine import EngineError
from portbench_engine.boot_rom import chips_bootrom

from portbench import testing
from portbench.firmware import FOLDER_VARIABLE
from portbench.results.model import Row
from portbench.workloads import workload
from tests.conftest import Image
from tests.measuring import measured


def measure(runtime: str, profile: str, workload_name: str, folder: Path, **settings: int) -> Row:
    """One row; skips the test without the image."""
    of = {"runtimes": (runtime,), "profiles": (profile,), "workloads": (workload(workload_name),)}
    (row,) = measured(folder, **of, settings=settings)
    return row


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("runtime", "profile", "workload_name", "settings"),
    [
        ("wiznet-w5500-evb-pico2-1.27.0-preview.85", "tuned", "ping_pong", {"messages": 100}),
        ("micropython-pico2-w-1.28.0", "as-built", "ping_pong", {"messages": 100}),
        ("micropython-pico2-1.25.0-preview.393", "default", "interpreter", {"passes": 1000, "repeats": 1}),
        ("circuitpython-pico2-9.2.0", "default", "interpreter", {"passes": 1000, "repeats": 1}),
    ],
    ids=["ethernet", "wifi", "micropython", "circuitpython"],
)
def test_two_runs_are_the_same(
    runtime: str, profile: str, workload_name: str, settings: dict[str, int], image: Image, tmp_path: Path
) -> None:
    image(runtime)
    first, second = (measure(runtime, profile, workload_name, tmp_path, **settings) for _ in range(2))
    assert first.sim is not None and second.sim is not None
    assert (first.figures, first.samples) == (second.figures, second.samples)
    assert (first.sim.counters, first.sim.flash_sha256) == (second.sim.counters, second.sim.flash_sha256)


VERSIONR = """
from machine import Pin, SPI
spi, csn, rstn = SPI(0, 8_000_000, sck=Pin(18), mosi=Pin(19), miso=Pin(16)), Pin(17, Pin.OUT, value=1), Pin(20, Pin.OUT)
time.sleep_ms(1)
rstn(1)
time.sleep_ms(100)
csn(0)
spi.write(bytes([0x0F, 0x00, 0x80]))
print(hex(spi.read(1)[0]))
csn(1)
"""
"""Reads the W5100S's version, in its frames, which no other chip of WIZnet's has."""


def test_a_w5100s_evb_pico2_has_its_chip_on_its_pins(image: Image) -> None:
    board = testing.Board("W5100S_EVB_PICO2")
    board.flash(image("wiznet-w5500-evb-pico2-1.27.0-preview.85"))  # none is public for this board
    assert board.execute(f"import time{VERSIONR}") == "0x51\r\n"


@pytest.mark.timeout(600)
def test_our_boot_rom_gives_the_same_figures(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = "wiznet-w5500-evb-pico2-1.27.0-preview.85"
    image(runtime)
    try:
        boot_rom = chips_bootrom("RP2350", Path(os.environ[FOLDER_VARIABLE]))
    except (KeyError, EngineError) as error:
        pytest.skip(f"no boot ROM of the RP2350: {error}")
    rows = {}
    for name, rom in (("chip's", boot_rom), ("ours", None)):
        cache = tmp_path / name / "portbench"
        cache.mkdir(parents=True)
        if rom is not None:
            (cache / "rp2350-bootrom-a2.bin").write_bytes(rom)
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
        rows[name] = measure(runtime, "tuned", "ping_pong", tmp_path, messages=100)
    ours, chips = rows["ours"], rows["chip's"]
    assert (ours.figures, ours.samples) == (chips.figures, chips.samples)
    assert chips.note is None and (ours.note or "").startswith("portbench's own boot ROM; for the RP2350's: ")
