"""SG90, a servo of Tower Pro on one pin."""

from portbench_engine.devices import US, PinDevice

_DEGREES_PER_S = 600  # 0.1 s for 60 degrees, at 4.8 V without a load


class Sg90(PinDevice):
    """`angle` follows the width of the pulses, from `least_us` at 0 to `most_us` at 180 degrees, at its own speed.

    `pulse_us` is the last width, `period_us` the time between the last two. Pulses far outside do not move it.
    """

    pins = ("signal",)

    def __init__(self, least_us: float = 500.0, most_us: float = 2400.0, angle: float = 90.0) -> None:
        self.least_us, self.most_us, self.angle = least_us, most_us, angle

    def power_up(self) -> None:
        super().power_up()
        self.target, self.pulse_us, self.period_us, self._rose_ps, self._moved_ps = self.angle, 0.0, 0.0, 0, 0

    def edge(self, pin: str, high: bool) -> None:
        if high:
            self.period_us, self._rose_ps = (self.now_ps - self._rose_ps) / US, self.now_ps
        elif self._rose_ps:
            reach = (self.now_ps - self._moved_ps) * _DEGREES_PER_S / 10**12
            self.angle += max(-reach, min(reach, self.target - self.angle))
            self.pulse_us, self._moved_ps = (self.now_ps - self._rose_ps) / US, self.now_ps
            share = (self.pulse_us - self.least_us) / (self.most_us - self.least_us)
            if -0.1 <= share <= 1.1:
                self.target = 180 * max(0.0, min(1.0, share))
