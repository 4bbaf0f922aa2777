"""WS2812B, a strip of lights on one pin (Worldsemi, V5)."""

from portbench_engine.devices import US, PinDevice

_ONE_PS = 550_000
"""A longer high is a 1: between 380 ns, the longest of a 0, and 580 ns, the shortest of a 1, with the V2's times."""


class Ws2812(PinDevice):
    """`colours` has red, green and blue of each light since the last of `updates`: after 280 us of low on the line."""

    pins = ("data",)

    def __init__(self, lights: int = 8) -> None:
        self.lights, self.updates = lights, 0

    def power_up(self) -> None:
        super().power_up()
        self._bits, self._rose_ps, self.colours = "", 0, [(0, 0, 0)] * self.lights

    def edge(self, pin: str, high: bool) -> None:
        if high:
            self._rose_ps, self.wake_ps = self.now_ps, None
        elif self._rose_ps:
            self._bits += "01"[self.now_ps - self._rose_ps >= _ONE_PS]
            self.wake_ps = self.now_ps + 280 * US

    def wake(self) -> None:
        for light in range(min(len(self._bits) // 24, self.lights)):
            green, red, blue = int(self._bits[24 * light : 24 * light + 24], 2).to_bytes(3, "big")
            self.colours[light] = (red, green, blue)
        self._bits, self.updates = "", self.updates + 1
