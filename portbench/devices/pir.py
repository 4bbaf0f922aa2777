"""HC-SR501, a sensor of moving warmth (passive infrared) on one pin."""

from portbench_engine.devices import MS, PinDevice


class Pir(PinDevice):
    """`move` makes its output high for `hold_s`; a further movement prolongs that. Then it is blind for `blind_s`."""

    pins = ("out",)

    def __init__(self, hold_s: float = 3.0, blind_s: float = 2.5) -> None:
        self.hold_s, self.blind_s = hold_s, blind_s

    def power_up(self) -> None:
        super().power_up()
        self.out = False

    def move(self) -> None:
        """Move something in front of it."""
        if self.out or not self.plan:
            self.plan = []
            self.later(0, out=True)
            self.later(round(self.hold_s * 1000 * MS), out=False)
            self.later(round(self.blind_s * 1000 * MS))
