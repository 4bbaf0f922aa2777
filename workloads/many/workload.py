"""Many connections of a board: at once, in a row, with little memory, and with a failing one."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, cast

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Conversation,
    ConversationError,
    Measurement,
    Metric,
    NetworkFault,
    Served,
    Session,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import shown

_LONGEST_LINE: Final = 20
_DISTURBS: Final = re.compile(rb"(reset|restart|cable)(?: ([0-9]{1,5}))?")


class Obeys(Conversation):
    """The PC's side of each connection: it obeys the board's lines. An exchange is a line, with any answer to it.

    `hi`: answer `ok`. `close`: close. `reset`: reset the connection. `restart MS`: reset it, and refuse all others for
    so long. `cable MS`: unplug the cable for so long.
    """

    def __init__(self) -> None:
        self._line = bytearray()

    def receive(self, data: bytes) -> bytes:
        self._line += data
        said = b""
        while b"\n" in self._line:
            line, _, rest = bytes(self._line).partition(b"\n")
            self._line = bytearray(rest)
            said += self._obey(line)
        if len(self._line) > _LONGEST_LINE:
            raise ConversationError(f"the board said {shown(bytes(self._line))}, which is too long for a line", said)
        return said

    def eof(self) -> None:
        """Accept the end at any time: a failing board may even stop within a line."""

    def _obey(self, line: bytes) -> bytes:
        self.exchanges += 1
        if line == b"hi":
            return b"ok"
        if line == b"close":
            self.finished = True
            return b""
        found = _DISTURBS.fullmatch(line)
        if found is None or (found[1] == b"reset") is not (found[2] is None):
            raise ConversationError(f"the board said {shown(line)}, which is not a command")
        kind = cast(Literal["reset", "restart", "cable"], found[1].decode())
        self.network_fault = NetworkFault(kind, float(found[2] or 0) * 1000)
        return b""


Trial = Literal["at_once", "rate", "memory", "closed", "reset", "restart", "cable"]
_GOOD = "ok"


class Settings(WorkloadSettings):
    trial: Trial = Field(
        default="at_once", description="at_once, rate, memory, closed, reset, restart or cable; see the workload's page"
    )
    most: int = Field(default=12, ge=2, le=100, description="number of connections, or of attempts")


class Result(WorkloadResult):
    steps: list[
        Annotated[
            tuple[Annotated[str, Field(max_length=60)], Annotated[str, Field(max_length=200)], int], Field(strict=False)
        ]
    ]
    """Name, `ok`, `nothing` or the error, and microseconds on the board's clock, of each step."""


class ManyWorkload(Served):
    name = "many"
    title = "Many connections, and what goes wrong with one"
    headline = Metric("good_steps", "steps that worked")
    reading = (
        "*steps that worked* of all *steps* of the trial; *open* is the most connections that were open at once,"
        " *ms each* the time to open one, say hi and close it. Each step's result is a separate figure in"
        " `portbench show --json`: the step, `: ` and the error."
    )
    columns = (
        Column("steps", "steps"),
        Column("open", "open"),
        Column("ms each", "each_us", scale=0.001),
    )
    settings_type = Settings
    quick_settings: ClassVar = {"trial": "rate", "most": 2}
    patience_us = 45e6
    exchange = "line"

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        steps = Result.read(result).steps
        if not steps or steps[0][1] != _GOOD:
            raise BadResult(f"the first connection does not work: {steps[0][1] if steps else 'no step was made'}")
        faults = [session.error for session in sessions if session.error is not None and "lost" not in session.error]
        if faults:
            raise BadResult(faults[0])
        figures = {"steps": float(len(steps)), "good_steps": float(sum(said == _GOOD for _, said, _ in steps))}
        for name, said, took_us in steps:
            key = name if said == _GOOD else f"{name}: {said}"
            figures[f"{key}, times"] = figures.get(f"{key}, times", 0.0) + 1
            figures[f"{key}, us"] = max(figures.get(f"{key}, us", 0.0), float(took_us))
        opened = [name for name, said, _ in steps if said == _GOOD and name.startswith("open ")]
        if settings.trial == "at_once":
            figures["open"] = 1.0 + sum(name != "open again" for name in opened)
        if settings.trial == "rate":
            figures |= _each(steps)
        return Measurement(figures)

    def exchanges(self, settings: Settings) -> int:
        return 1

    def conversation(self, max_bytes: int) -> Obeys:
        return Obeys()


def _each(steps: Sequence[tuple[str, str, int]]) -> dict[str, float]:
    """The mean time to open, use and close a connection; empty without a closed one."""
    whole = sum(said == _GOOD for name, said, _ in steps if name == "close")
    took_us = sum(us for name, _, us in steps[1:-1])
    return {"each_us": took_us / whole} if whole else {}


WORKLOAD = ManyWorkload()
