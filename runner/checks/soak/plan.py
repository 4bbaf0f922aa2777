"""The plan of each cycle of a soak, drawn from its seed: the same seed gives the same cycles."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from portbench.boards.desk.faults import Fault, FaultKind, When
from portbench.runner.checks.soak.dead_images import DeadImage
from portbench.runner.stages import Stage

SPI_HZ = (33_000_000, 16_000_000, 8_000_000, 4_000_000)
"""Far enough apart that the clock that a client reports identifies the one that it was given."""

_CALM_SHARE = 0.15
_DEAD_SHARE = 0.05


class Deed(StrEnum):
    """An attack on the harness or the board's process, rather than on the board."""

    CTRL_C = "ctrl-c"
    SECOND_HARNESS = "second-harness"
    PROCESS_KILLED = "process-killed"


@dataclass(frozen=True)
class Strike:
    """A fault of one cycle: when `stage` begins, `faults` are armed, or `deed` is done `delay_ms` later."""

    name: str
    stage: Stage
    faults: tuple[Fault, ...] = ()
    deed: Deed | None = None
    delay_ms: int = 0


@dataclass(frozen=True)
class Cycle:
    """One flash, deployment and run. `strike` None: nothing goes wrong.

    `dead`: the image stops at its start.
    """

    number: int
    spi_hz: int
    strike: Strike | None
    dead: DeadImage | None = None


def plan_cycle(seed: int, number: int, *, console: bool, exchanges: int) -> Cycle:
    """Cycle `number` of the soak with `seed`. `console`: the runtime has a console that faults may strike."""
    rng = random.Random(f"portbench soak {seed} {number}")
    spi_hz = rng.choice(SPI_HZ) - number % 100_000  # no two cycles ask for the same, so that each flashes
    if rng.random() < _DEAD_SHARE:
        return Cycle(number, spi_hz, None, rng.choice(tuple(DeadImage)))
    strike = None
    if rng.random() >= _CALM_SHARE:
        makers = _EVERYWHERE + (_WITH_CONSOLE if console else ())
        strike = rng.choice(makers)(rng, console, exchanges)
    return Cycle(number, spi_hz, strike)


Maker = Callable[[random.Random, bool, int], Strike]


def _strike(stage: Stage, *faults: Fault, name: str | None = None) -> Strike:
    return Strike(name or str(faults[0].kind), stage, faults)


def _in_run(rng: random.Random, exchanges: int) -> tuple[When, int]:
    """A moment of the run: while it gets ready, or after some of the exchanges."""
    if rng.random() < 0.25:
        return When.ENUMERATED, 1
    return When.ANSWERED, rng.randrange(1, max(2, exchanges))


def _volume_refuses(kind: FaultKind) -> Maker:
    return lambda rng, console, exchanges: _strike(Stage.FLASH, Fault(kind))


def _volume_torn(rng: random.Random, console: bool, exchanges: int) -> Strike:
    return _strike(Stage.FLASH, Fault(FaultKind.VOLUME_TORN, amount=rng.randrange(1000)))


def _flash_power(rng: random.Random, console: bool, exchanges: int) -> Strike:
    """When the boot loader has just appeared."""
    fault = Fault(FaultKind.POWER_LOST, When.ENUMERATED, 1)
    return _strike(Stage.FLASH, fault, name="power-lost-in-flash")


def _leaves_bus(rng: random.Random, console: bool, exchanges: int) -> Strike:
    """The boot loader leaves the bus when its drive has just appeared."""
    fault = Fault(FaultKind.SERIAL_DROPPED, When.ENUMERATED, 1, rng.randrange(10, 800))
    return _strike(Stage.FLASH, fault, name="drive-dropped")


def _late(rng: random.Random, console: bool, exchanges: int) -> Strike:
    stage = Stage.RUN if console and rng.random() < 0.5 else Stage.FLASH
    late = Fault(FaultKind.ENUMERATION_SLOW, duration_ms=rng.randrange(100, 1500))
    return _strike(stage, late)


def _in_mid_run(kind: FaultKind, most_ms: int = 0, most_amount: int = 0) -> Maker:
    def make(rng: random.Random, console: bool, exchanges: int) -> Strike:
        when, after = _in_run(rng, exchanges)
        duration_ms = rng.randrange(1, most_ms) if most_ms else 0
        amount = rng.randrange(1, most_amount) if most_amount else 0
        return _strike(Stage.RUN, Fault(kind, when, after, duration_ms, amount, seed=rng.getrandbits(32)))

    return make


def _deed(deed: Deed) -> Maker:
    def make(rng: random.Random, console: bool, exchanges: int) -> Strike:
        stages = [Stage.OPEN, Stage.FLASH, Stage.RUN]
        if console:
            stages += [Stage.CONSOLE, Stage.IDENTIFY, Stage.DEPLOY]
        if deed is Deed.SECOND_HARNESS or deed is Deed.PROCESS_KILLED:
            stages.remove(Stage.OPEN)  # there is no board yet
        return Strike(str(deed), rng.choice(stages), deed=deed, delay_ms=rng.randrange(0, 250))

    return make


def _on_console(kind: FaultKind) -> Maker:
    """A fault in the middle of a line that is printed or typed."""

    def make(rng: random.Random, console: bool, exchanges: int) -> Strike:
        stage = rng.choice((Stage.CONSOLE, Stage.IDENTIFY, Stage.DEPLOY, Stage.RUN))
        when = When.TYPED if kind is FaultKind.TYPED_LOST else When.PRINTED
        after = rng.randrange(1, 200)
        duration_ms = {
            FaultKind.SERIAL_DROPPED: rng.randrange(10, 1500),
            FaultKind.CONSOLE_SILENT: rng.randrange(100, 20_000),
        }.get(kind, 0)
        amount = rng.randrange(1, 40) if kind in (FaultKind.BYTES_LOST, FaultKind.TYPED_LOST) else 0
        return _strike(stage, Fault(kind, when, after, duration_ms, amount))

    return make


def _renamed(rng: random.Random, console: bool, exchanges: int) -> Strike:
    return _strike(Stage.FLASH, Fault(FaultKind.PORT_RENAMED))


_EVERYWHERE: tuple[Maker, ...] = (
    _volume_refuses(FaultKind.VOLUME_READ_ONLY),
    _volume_refuses(FaultKind.VOLUME_FULL),
    _volume_torn,
    _flash_power,
    _leaves_bus,
    _late,
    _in_mid_run(FaultKind.GUEST_CRASH),
    _in_mid_run(FaultKind.CORES_RESET),
    _in_mid_run(FaultKind.POWER_LOST),
    _in_mid_run(FaultKind.LINK_DOWN, most_ms=6000),
    _in_mid_run(FaultKind.PACKETS_LOST, most_ms=4000, most_amount=800),
    _in_mid_run(FaultKind.PACKETS_DELAYED, most_ms=4000, most_amount=100_000),
    _in_mid_run(FaultKind.SERVER_KILLED),
    _deed(Deed.CTRL_C),
    _deed(Deed.SECOND_HARNESS),
    _deed(Deed.PROCESS_KILLED),
)
_WITH_CONSOLE: tuple[Maker, ...] = (
    _on_console(FaultKind.SERIAL_DROPPED),
    _on_console(FaultKind.BYTES_LOST),
    _on_console(FaultKind.TYPED_LOST),
    _on_console(FaultKind.CONSOLE_SILENT),
    _renamed,
)
