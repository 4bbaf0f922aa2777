"""HC-SR04, a range finder by ultrasound on two pins (ELEC Freaks' user guide)."""

from portbench_engine.devices import MS, US, PinDevice

_SOUND_CM_PER_S = 34_320  # at 20 degrees


class HcSr04(PinDevice):
    """After 10 us of TRIG, it sends eight cycles of 40 kHz; ECHO is then high for as long as their sound travels.

    `distance_cm` None: no echo, and 38 ms. A trigger during a measurement is not heard.
    """

    pins = ("trig", "echo")

    def __init__(self, distance_cm: float | None = 100.0) -> None:
        self.distance_cm = distance_cm

    def power_up(self) -> None:
        super().power_up()
        self.echo, self._rose_ps = False, 0

    def edge(self, pin: str, high: bool) -> None:
        if pin == "trig" and high:
            self._rose_ps = self.now_ps
        elif pin == "trig" and self._rose_ps and self.now_ps - self._rose_ps >= 10 * US and not self.plan:
            sound_s = 0.038 if self.distance_cm is None else 2 * self.distance_cm / _SOUND_CM_PER_S
            self.later(8 * 25 * US, echo=True)
            self.later(round(sound_s * 1000 * MS), echo=False)
