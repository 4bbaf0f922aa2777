"""When a guest is given up, in simulated time."""

import pytest

from portbench.boards.emulated.liveness import MOST_RESETS, ChipUse, Erasure, Liveness, no_frame
from portbench.firmware.uf2 import FLASH_BASE, SECTOR_SIZE


def reset_often(liveness: Liveness, times: int, each_us: float, start_us: float = 0.0) -> float:
    for number in range(times):
        liveness.was_reset(start_us + number * each_us, "watchdog")
    return start_us + (times - 1) * each_us


def test_a_loop_of_resets_is_told() -> None:
    liveness = Liveness()
    now_us = reset_often(liveness, MOST_RESETS, 400_000)
    assert liveness.stuck(now_us) is None
    now_us = reset_often(liveness, 1, 0, now_us + 400_000)
    assert liveness.stuck(now_us) == (
        "21 resets in 8.0 s of simulated time and nothing on the console; the last: watchdog"
    )
    liveness.powered_up()
    assert liveness.stuck(0.0) is None


def test_slow_resets_and_resets_with_words_between_are_the_guests_own() -> None:
    liveness = Liveness()
    assert liveness.stuck(reset_often(liveness, 100, 501_000)) is None
    liveness = Liveness()
    for part in range(10):
        reset_often(liveness, MOST_RESETS, 1000, part * 100_000)
        liveness.printed()
    assert liveness.stuck(reset_often(liveness, MOST_RESETS, 1000, 2_000_000)) is None


def test_a_lock_up_is_the_watchdogs_first() -> None:
    liveness = Liveness()
    liveness.locked_up(1e6, "core 0 locked up at pc 0x10000280")
    liveness.locked_up(2e6, "core 0 locked up elsewhere")
    assert liveness.stuck(10e6) is None
    assert liveness.stuck(10.1e6) == "core 0 locked up at pc 0x10000280"
    liveness.was_reset(10.2e6, "watchdog")
    assert liveness.stuck(30e6) is None


def test_a_sleep_without_an_end_is_told_at_once() -> None:
    liveness = Liveness()
    liveness.asleep("the board sleeps and nothing can wake it")
    assert liveness.stuck(0.0) == liveness.because("no frame") == "the board sleeps and nothing can wake it"
    liveness.powered_up()
    assert liveness.stuck(30e6) is None


def test_what_is_given_up_names_a_fault_that_came_before() -> None:
    liveness = Liveness()
    assert liveness.because(None) is None and liveness.because("no frame") == "no frame"
    liveness.first_fault = "at 0.024 s: core 0 HardFault at pc 0x10000280"
    assert liveness.because(None) is None
    assert liveness.because("no frame") == "no frame; before that, at 0.024 s: core 0 HardFault at pc 0x10000280"
    liveness.locked_up(1e6, "core 0 locked up")
    before = "before that, at 0.024 s: core 0 HardFault at pc 0x10000280"
    assert liveness.because("no frame") == f"core 0 locked up; {before}" and liveness.because(None) is None
    assert liveness.stuck(20e6) == f"core 0 locked up; {before}"
    liveness.first_fault = "at 1.000 s: core 0 locked up"
    assert liveness.because("no frame") == "core 0 locked up"


def test_time_off_the_bus_begins_where_it_left() -> None:
    liveness = Liveness()
    assert liveness.off_bus_us(3e6) == 3e6
    liveness.enumerated(4e6, True)
    assert liveness.off_bus_us(9e6) == 0
    for now_us in (10e6, 11e6):
        liveness.enumerated(now_us, False)
    assert liveness.off_bus_us(12e6) == 2e6
    liveness.powered_up()
    assert liveness.off_bus_us(1e6) == 1e6


@pytest.mark.parametrize(("now_us", "chip_selects", "told"), [(7.9e6, 0, False), (60e6, 1, False), (8e6, 0, True)])
def test_a_silent_chip_is_told_once_its_client_had_the_time(now_us: float, chip_selects: int, told: bool) -> None:
    assert bool(no_frame(now_us, "W5500", chip_selects)) is told


def test_a_chip_that_is_left_alone_is_told_unless_the_pc_pauses() -> None:
    use = ChipUse(1e6, 3)
    assert use.ended(15.9e6, "W5500", 3, 0) is None
    told = "no SPI frame for the W5500 for 15 s of simulated time: what runs on the board hangs"
    assert use.ended(16e6, "W5500", 3, 0) == told
    assert use.ended(16e6, "W5500", 3, 5e6) is None
    assert use.ended(30e6, "W5500", 4, 0) is None and use.ended(44.9e6, "W5500", 4, 0) is None
    assert use.ended(45e6, "W5500", 4, 0) == told
    use.begin_again(46e6)
    assert use.ended(60.9e6, "W5500", 4, 0) is None and use.ended(61e6, "W5500", 4, 0) == told


def test_sectors_that_a_program_erases_of_its_image_are_counted_from_the_first_on() -> None:
    image = bytes(range(256)) * (3 * SECTOR_SIZE // 256)
    erasure = Erasure({FLASH_BASE + SECTOR_SIZE: image, FLASH_BASE + (16 << 10): b"\x55" * 256})
    flash = bytearray(b"\xff" * SECTOR_SIZE + image + b"\x55" * 256 + b"\xff" * 256)
    assert erasure.told is None
    flash[SECTOR_SIZE : SECTOR_SIZE + 256] = bytes(256)
    flash[-256:] = b"its settings".ljust(256)
    erasure.look(bytes(flash), 1e5)
    assert erasure.told is None, "bits that were programmed, and bytes behind the image"
    flash[3 * SECTOR_SIZE : 4 * SECTOR_SIZE] = b"\xff" * SECTOR_SIZE
    erasure.look(bytes(flash), 2e5)
    assert erasure.told == "erased 4 KiB of its image at 0.2 s, from 0x10003000 on"
    flash[2 * SECTOR_SIZE] = 0x80  # erased and programmed again
    flash[3 * SECTOR_SIZE : 4 * SECTOR_SIZE] = image[:SECTOR_SIZE]
    erasure.look(bytes(flash), 3e5)
    assert erasure.told == "erased 8 KiB of its image at 0.2 s, from 0x10002000 on"
