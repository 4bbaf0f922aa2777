"""Writes a file to an SD card and reads it back, 512 bytes at a time, and times each call."""

import gc
import os
import time

from portbench_client import RESULT

BLOCK = 512


def clock():
    """A clock in microseconds, and what turns two of its readings into their distance."""
    if hasattr(time, "ticks_us"):
        return time.ticks_us, time.ticks_diff
    return (lambda: time.monotonic_ns() // 1000), (lambda later, earlier: later - earlier)


def mount_on_micropython(spi_hz):
    import sdcard
    from machine import SPI, Pin

    pins = {"sck": Pin(BOARD_SD_SCK_PIN), "mosi": Pin(BOARD_SD_MOSI_PIN), "miso": Pin(BOARD_SD_MISO_PIN)}
    spi = SPI(BOARD_SD_SPI_ID, baudrate=spi_hz, **pins)
    card = sdcard.SDCard(spi, Pin(BOARD_SD_CSN_PIN), baudrate=spi_hz)
    os.mount(os.VfsFat(card), "/sd")
    # SPI(1, baudrate=24000000, polarity=0, ...)
    return lambda: int(repr(spi).split("baudrate=")[1].split(",")[0])


def mount_on_circuitpython(spi_hz, driver):
    import board
    import busio
    import storage

    spi = busio.SPI(board.GP_SD_SCK, board.GP_SD_MOSI, board.GP_SD_MISO)
    if driver == "adafruit_sdcard":
        import adafruit_sdcard
        import digitalio

        card = adafruit_sdcard.SDCard(spi, digitalio.DigitalInOut(board.GP_SD_CSN), baudrate=spi_hz)
    else:
        import sdcardio

        card = sdcardio.SDCard(spi, board.GP_SD_CSN, baudrate=spi_hz)
    storage.mount(storage.VfsFat(card), "/sd")
    return lambda: spi.frequency


def measure(way, mode, buffer, pattern, blocks):
    """Writes or reads the file block by block; all calls but the first count for the latencies."""
    RESULT["stage"] = way
    now, distance = clock()
    least, most, total = 1 << 29, 0, 0
    with open("/sd/BENCH.DAT", mode) as file:
        call = file.write if mode == "wb" else file.readinto
        gc.collect()
        started = now()
        for number in range(blocks):
            pattern[0] = number & 255
            pattern[1] = number >> 8 & 255
            before = now()
            taken = call(buffer)
            took = distance(now(), before)
            if taken != BLOCK:
                raise OSError("block %d of the file: %d bytes, not %d" % (number, taken, BLOCK))
            if buffer != pattern:
                raise ValueError("block %d of the file is not what was written" % number)
            if number:
                total += took
                least = min(least, took)
                most = max(most, took)
    RESULT[way + "_total_us"] = distance(now(), started)
    RESULT[way + "_min_us"] = least
    RESULT[way + "_max_us"] = most
    RESULT[way + "_sum_us"] = total


def sd_card(file_bytes, spi_hz, driver):
    RESULT["stage"] = "card"
    on_micropython = hasattr(time, "ticks_us")
    actual_hz = mount_on_micropython(spi_hz) if on_micropython else mount_on_circuitpython(spi_hz, driver)
    pattern = bytearray([n * 7 & 255 for n in range(BLOCK)])
    blocks = file_bytes // BLOCK
    measure("write", "wb", pattern, pattern, blocks)
    measure("read", "rb", bytearray(BLOCK), pattern, blocks)
    RESULT["card_spi_hz"] = actual_hz()
