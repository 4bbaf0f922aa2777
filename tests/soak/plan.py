"""The plan of each cycle of the soak, drawn from its seed: the same seed gives the same cycles."""

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from portbench.boards.desk.faults import Fault, FaultKind, When
from portbench.runner.stages import Stage
from tests.dead_images import DeadImage

SPI_HZ: Final = (33_000_000, 16_000_000, 8_000_000, 4_000_000)
"""Far enough apart that the clock that a client reports identifies the one that it was given."""
_CALM_SHARE: Final = 0.15
_READY_SHARE: Final = 0.25
"""Share of the faults in a run that strike while it gets ready, not after some of the exchanges."""


class Deed(StrEnum):
    """An attack on the harness or the board's process, rather than on the board."""

    CTRL_C = "ctrl-c"
    SECOND_HARNESS = "second-harness"
    PROCESS_KILLED = "process-killed"


@dataclass(frozen=True)
class Strike:
    """A fault is armed when `stage` begins, or a deed is done `delay_ms` later; or the image stops at its start."""

    stage: Stage
    what: Fault | Deed | DeadImage
    delay_ms: int = 0

    @property
    def kind(self) -> str:
        return str(self.what.kind if isinstance(self.what, Fault) else self.what)

    def __str__(self) -> str:
        return f"{self.kind} in {self.stage}"


@dataclass(frozen=True)
class Cycle:
    """One flash, deployment and run. `strike` None: nothing goes wrong."""

    number: int
    spi_hz: int
    strike: Strike | None = None


@dataclass(frozen=True)
class _Maker:
    """The range of a kind's faults; `ms` is how long they last."""

    kind: FaultKind
    stages: tuple[Stage, ...]
    when: When = When.NOW
    ms: range = range(1)
    amount: range = range(1)

    def __call__(self, rng: random.Random, exchanges: int) -> Strike:
        when = self.when
        if when is When.ANSWERED and rng.random() < _READY_SHARE:
            when = When.ENUMERATED
        most = {When.NOW: 0, When.ENUMERATED: 1, When.ANSWERED: max(1, exchanges - 1)}.get(when, 199)
        after = rng.randint(min(1, most), most)
        fault = Fault(self.kind, when, after, rng.choice(self.ms), rng.choice(self.amount), seed=rng.getrandbits(32))
        return Strike(rng.choice(self.stages), fault)


_FLASH: Final = (Stage.FLASH,)
_RUN: Final = (Stage.RUN,)
_CONSOLE: Final = (Stage.CONSOLE, Stage.IDENTIFY, Stage.DEPLOY, Stage.RUN)
_EVERYWHERE: Final[tuple[_Maker | Deed | DeadImage, ...]] = (
    *Deed,
    *DeadImage,
    _Maker(FaultKind.VOLUME_READ_ONLY, _FLASH),
    _Maker(FaultKind.VOLUME_FULL, _FLASH),
    _Maker(FaultKind.VOLUME_TORN, _FLASH, amount=range(1000)),
    # When the boot loader, or its drive, has just appeared.
    _Maker(FaultKind.POWER_LOST, _FLASH, When.ENUMERATED),
    _Maker(FaultKind.SERIAL_DROPPED, _FLASH, When.ENUMERATED, ms=range(10, 800)),
    _Maker(FaultKind.ENUMERATION_SLOW, _FLASH, ms=range(100, 1500)),
    _Maker(FaultKind.GUEST_CRASH, _RUN, When.ANSWERED),
    _Maker(FaultKind.CORES_RESET, _RUN, When.ANSWERED),
    _Maker(FaultKind.POWER_LOST, _RUN, When.ANSWERED),
    _Maker(FaultKind.LINK_DOWN, _RUN, When.ANSWERED, ms=range(1, 6000)),
    _Maker(FaultKind.PACKETS_LOST, _RUN, When.ANSWERED, ms=range(1, 4000), amount=range(1, 800)),
    _Maker(FaultKind.PACKETS_DELAYED, _RUN, When.ANSWERED, ms=range(1, 4000), amount=range(1, 100_000)),
    _Maker(FaultKind.SERVER_KILLED, _RUN, When.ANSWERED),
)
_WITH_CONSOLE: Final = (
    # In the middle of a line that is printed or typed.
    _Maker(FaultKind.SERIAL_DROPPED, _CONSOLE, When.PRINTED, ms=range(10, 1500)),
    _Maker(FaultKind.BYTES_LOST, _CONSOLE, When.PRINTED, amount=range(1, 40)),
    _Maker(FaultKind.TYPED_LOST, _CONSOLE, When.TYPED, amount=range(1, 40)),
    _Maker(FaultKind.CONSOLE_SILENT, _CONSOLE, When.PRINTED, ms=range(100, 20_000)),
    _Maker(FaultKind.PORT_RENAMED, _FLASH),
    _Maker(FaultKind.ENUMERATION_SLOW, _RUN, ms=range(100, 1500)),
)


def plan_cycle(seed: int, number: int, *, console: bool, exchanges: int) -> Cycle:
    """Cycle `number` of the soak with `seed`. `console`: the runtime has a console that faults may strike."""
    rng = random.Random(f"portbench soak {seed} {number}")
    spi_hz = rng.choice(SPI_HZ) - number % 100_000  # no two cycles ask for the same, so that each flashes
    if rng.random() < _CALM_SHARE:
        return Cycle(number, spi_hz)
    what = rng.choice(_EVERYWHERE + (_WITH_CONSOLE if console else ()))
    if isinstance(what, _Maker):
        return Cycle(number, spi_hz, what(rng, exchanges))
    if isinstance(what, DeadImage):
        return Cycle(number, spi_hz, Strike(Stage.IMAGE, what))
    stages = (Stage.FLASH, Stage.RUN, *(_CONSOLE[:-1] if console else ()))
    if what is Deed.CTRL_C:
        stages += (Stage.OPEN,)  # before there is a board, which others need
    return Cycle(number, spi_hz, Strike(rng.choice(stages), what, rng.randrange(250)))
