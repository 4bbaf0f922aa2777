"""CircuitPython's supervisor; and the time, which only sleeping and looking move: tests take no real time."""

import time

from scenario import SCENARIO


class _Runtime:
    looks = 0

    @property
    def serial_connected(self):
        self.looks += 1
        return self.looks > SCENARIO["console_after_looks"]


class _Clock:
    now_ns = time.monotonic_ns()

    def monotonic_ns(self):
        self.now_ns += 3000
        return self.now_ns

    def sleep(self, seconds):
        self.now_ns += round(seconds * 1e9)


runtime = _Runtime()
_clock = _Clock()
time.monotonic_ns = _clock.monotonic_ns
time.sleep = _clock.sleep
