"""BME280, Bosch's sensor of temperature, pressure and humidity on I2C (BST-BME280-DS002)."""

import struct
from bisect import bisect_left
from collections.abc import Callable

from portbench_engine.devices import MS, I2cDevice

T = (27504, 26435, -1000)
P = (36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000)
H = (75, 370, 0, 313, 50, 30)
_STANDBY_MS = (0.5, 62.5, 125, 250, 500, 1000, 10, 20)


def fine_of(t: int) -> float:
    return (t / 16384 - T[0] / 1024) * T[1] + (t / 131072 - T[0] / 8192) ** 2 * T[2]


def pascal_of(p: int, fine: float) -> float:
    var = fine / 2 - 64000
    offset = (var * var * P[5] / 32768 + var * P[4] * 2) / 4 + P[3] * 65536
    scale = (1 + (P[2] * var * var / 524288 + P[1] * var) / 524288 / 32768) * P[0]
    pascal = (1048576 - p - offset / 4096) * 6250 / scale
    return pascal + (P[8] * pascal * pascal / 2**31 + pascal * P[7] / 32768 + P[6]) / 16


def percent_of(h: int, fine: float) -> float:
    var = fine - 76800
    scale = H[1] / 65536 * (1 + H[5] / 2**26 * var * (1 + H[2] / 2**26 * var))
    percent = (h - H[3] * 64 - H[4] / 16384 * var) * scale
    return percent * (1 - H[0] * percent / 524288)


def _raw(formula: Callable[[int], float], wanted: float, bits: int) -> int:
    above = bisect_left(range(1, (1 << bits) - 1), wanted, key=formula)
    return min((above, above + 1), key=lambda raw: abs(formula(raw) - wanted))


class Bme280(I2cDevice):
    """Measures `celsius`, `pascal` and `percent` in the typical time, in the steps of its oversampling."""

    def __init__(self, celsius: float = 25.0, pascal: float = 101_325.0, percent: float = 50.0, address: int = 0x77):
        self.celsius, self.pascal, self.percent, self.address = celsius, pascal, percent, address

    def power_up(self) -> None:
        self._at, self.wake_ps, self._registers = 0, None, bytearray(256)
        self._registers[0x88:0xA2] = struct.pack("<H2hH8hxB", *T, *P, H[0])
        nibbles = H[3] >> 4, H[3] % 16 | H[4] % 16 << 4, H[4] >> 4
        self._registers[0xE1:0xE8] = struct.pack("<h5B", *H[1:3], *nibbles, H[5])
        self._registers[0xD0], self._registers[0xF7:0xFF] = 0x60, b"\x80\0\0\x80\0\0\x80\0"

    def write(self, data: bytes) -> None:
        self._at = data[0] if data else self._at
        for register, value in zip(data[::2], data[1::2], strict=False):
            if register == 0xE0:
                self.power_up()
            elif register in (0xF2, 0xF4, 0xF5):
                self._registers[register] = value
            if register == 0xF4:
                self.wake_ps = self.now_ps + self._plan()[1] if value & 3 else None

    def read(self) -> bytes:
        self._registers[0xF3] = 8 * (self.wake_ps is not None and self.now_ps >= self.wake_ps - self._plan()[1])
        return bytes(self._registers[self._at :])

    def wake(self) -> None:
        (t, p, h), took_ps = self._plan()
        temperature = _raw(fine_of, self.celsius * 5120, 20) & -(16 // (t or 1))
        fine = fine_of(temperature)
        pressure = 2**20 - _raw(lambda up: pascal_of(2**20 - up, fine), self.pascal, 20) & -(16 // (p or 1))
        humidity = _raw(lambda raw: percent_of(raw, fine), self.percent, 16)
        for at, raw in ((0xF7, pressure if p else 2**19), (0xFA, temperature if t else 2**19)):
            self._registers[at : at + 3] = (raw << 4).to_bytes(3, "big")
        self._registers[0xFD:0xFF] = (humidity if h else 2**15).to_bytes(2, "big")
        if self._registers[0xF4] & 3 == 3:
            self.wake_ps = self.now_ps + took_ps + int(_STANDBY_MS[self._registers[0xF5] >> 5] * MS)
        else:
            self._registers[0xF4] &= 0xFC

    def _plan(self) -> tuple[list[int], int]:
        codes = self._registers[0xF4] >> 5, self._registers[0xF4] >> 2 & 7, self._registers[0xF2] & 7
        t, p, h = times = [(1 << min(code, 5)) >> 1 for code in codes]
        return times, int((1 + 2 * t + (2 * p + 0.5 if p else 0) + (2 * h + 0.5 if h else 0)) * MS)
