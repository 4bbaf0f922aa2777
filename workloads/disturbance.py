"""What the PC does to the board's network in the middle of a workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Disturbance:
    """`reset`: the connection is reset at once. `restart`: so it is, and the server refuses connections for a time.
    `cable`: the cable is out for a time, and the connection stays."""

    kind: Literal["reset", "restart", "cable"]
    lasts_us: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.lasts_us / 1e6:g} s" if self.lasts_us else self.kind
