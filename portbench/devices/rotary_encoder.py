"""A mechanical rotary encoder on two pins, such as the KY-040."""

from portbench_engine.devices import US, PinDevice


class RotaryEncoder(PinDevice):
    """Both pins rest high by its pull-ups. A detent is four edges, `edge_us` apart; clockwise, CLK is the first."""

    pins = ("clk", "dt")
    clk: bool | None = True
    dt: bool | None = True

    def __init__(self, edge_us: float = 2000.0) -> None:
        self.edge_us, self.position = edge_us, 0

    def turn(self, detents: int) -> None:
        """Turn it clockwise; negative numbers turn it back."""
        first, second = ("clk", "dt") if detents > 0 else ("dt", "clk")
        for pin, level in [(first, False), (second, False), (first, True), (second, True)] * abs(detents):
            self.later(round(self.edge_us * US) if self.plan else 0, **{pin: level})
        self.position += detents
