"""A push button from a pin to ground, with its bounces."""

from portbench_engine.devices import US, PinDevice


class Button(PinDevice):
    """Open until `press`. At each change the contact returns `bounces` times, every `bounce_us`, before it stays.

    The board's pin needs its pull. `to_ground` False: the button leads to the supply.
    """

    pins = ("contact",)

    def __init__(self, bounces: int = 0, bounce_us: float = 200.0, to_ground: bool = True) -> None:
        self.bounces, self.bounce_us, self._closed = bounces, bounce_us, not to_ground

    def press(self, for_us: float | None = None) -> None:
        """Close the contact; until `release`, or for so long after the last bounce."""
        self._change(self._closed, None)
        if for_us is not None:
            self._change(None, self._closed, for_us)

    def release(self) -> None:
        """Open the contact."""
        self._change(None, self._closed)

    def _change(self, to: bool | None, before: bool | None, after_us: float = 0) -> None:
        self.later(round(after_us * US), contact=to)
        for level in [before, to] * self.bounces:
            self.later(round(self.bounce_us * US), contact=level)
