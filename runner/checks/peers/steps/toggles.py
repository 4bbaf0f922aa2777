"""`{ toggles = "GP25", edges = 8, period_us = 500000 }`: a pin's level changes so often, and so fast."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from portbench.boards.pins import pin_number
from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step
from portbench.testing.errors import NothingCame

_MOST_RECORDS: Final = 1_000_000


def _named(name: str) -> str:
    pin_number(name)
    return name


class Toggles(Step):
    """`period_us`: from one rising edge to the next, on the average, to 1 part in 100 or `tolerance_us`."""

    toggles: Annotated[str, AfterValidator(_named)]
    edges: Annotated[int, Field(ge=1)] = 4
    period_us: Annotated[float, Field(gt=0)] | None = None
    tolerance_us: Annotated[float, Field(ge=0)] | None = None

    def do(self, board: ProgramBoard, within_s: float) -> None:
        machine, pin = board.machine, pin_number(self.toggles)
        level = machine.pin(pin)
        edges_us: list[float] = []
        rising_us: list[float] = []

        def look() -> bool:
            nonlocal level
            records, _ = machine.trace_take()
            for record in records:
                now = bool(record["level"] >> pin & 1)
                if now != level:
                    level = now
                    edges_us.append(record["t_us"])
                    if now:
                        rising_us.append(record["t_us"])
            return len(edges_us) >= self.edges

        machine.trace_start(["pins"], _MOST_RECORDS)
        try:
            board.wait(look, within_s, f"{self.edges} edges at {self.toggles}")
        finally:
            machine.trace_stop()
        if self.period_us is None:
            return
        if len(rising_us) < 2:
            raise NothingCame(f"{self.toggles}: no period in {len(edges_us)} edges; ask for more")
        period_us = (rising_us[-1] - rising_us[0]) / (len(rising_us) - 1)
        if abs(period_us - self.period_us) > (self.tolerance_us or self.period_us / 100):
            raise NothingCame(f"{self.toggles}: a period of {period_us:g} us came, not {self.period_us:g} us")


STEP = Toggles
