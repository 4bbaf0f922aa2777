"""A board that sleeps by DORMANT: its wake-up, and the message where none can come."""

import pytest

from portbench.testing import Board, NothingCame
from tests.conftest import Image

pytestmark = pytest.mark.engine

SLEEPER = """
import machine, time
from machine import Pin
button, led = Pin(14, Pin.IN, Pin.PULL_UP), Pin(25, Pin.OUT, value=0)
IO_BANK0, FALLING = 0x40014000, 4 << 4 * (14 % 8)
machine.mem32[IO_BANK0 + 0x0f0 + 4 * (14 // 8)] = FALLING  # INTR: clears an earlier edge
machine.mem32[IO_BANK0 + 0x160 + 4 * (14 // 8)] = {wakes} and FALLING  # DORMANT_WAKE_INTE
time.sleep(2)  # until the console is open
print("sleeps")
time.sleep_ms(50)
{sleep}
led.value(1)
time.sleep_ms(200)
print("awake")
"""


def begin(board: Board, image: Image, sleep: str, wakes: bool) -> None:
    board.flash(image("micropython-1.26.0"))
    board.copy({"main.py": SLEEPER.format(sleep=sleep, wakes=wakes)})
    board.power_cycle()
    board.expect("sleeps", within_s=20)


def test_a_button_ends_micropythons_lightsleep(emulated_board: Board, image: Image) -> None:
    button, led = emulated_board.pin("GP14"), emulated_board.pin("GP25")
    begin(emulated_board, image, "machine.lightsleep()", wakes=True)
    emulated_board.run(3)
    assert not led.level
    pressed_us = emulated_board.time_us
    button.hold("low")
    # The crystal's startup delay comes first. The PC has given the console up by then.
    assert 900 < led.wait_for("high", within_s=1) - pressed_us < 20_000


@pytest.mark.parametrize("sleep", ["machine.lightsleep()", "machine.deepsleep()"])
def test_a_sleep_without_an_end_is_told(emulated_board: Board, image: Image, sleep: str) -> None:
    begin(emulated_board, image, sleep, wakes=False)
    says = r"and cannot: the board sleeps \(DORMANT, pc 0x10\w+\) and nothing can wake it: no pin is enabled"
    with pytest.raises(NothingCame, match=says):
        emulated_board.expect("awake", within_s=3600)
    assert emulated_board.time_us < 10e6
    # Power ends it.
    emulated_board.power_cycle()
    emulated_board.expect("sleeps", within_s=20)
