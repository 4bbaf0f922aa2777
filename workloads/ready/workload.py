"""The time from a board's start to a connection with the PC, stage by stage."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Native,
    Served,
    Session,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import Hears

_Microseconds = Annotated[int, Field(ge=0, le=1 << 40)]


class Settings(WorkloadSettings):
    """No settings: the conditions are settings of the run."""


class Result(WorkloadResult):
    """On the board's clock: `booted_us` at the client's first line, the others since then."""

    booted_us: _Microseconds
    link_us: _Microseconds
    ready_us: _Microseconds
    answered_us: _Microseconds


class ReadyWorkload(Served, Native):
    name = "ready"
    title = "Ready"
    headline = Metric("up_ms", "ms to ready", better="lower")
    reading = (
        "*ms to ready* is from the start of the board's timer to an open connection with the PC. *boot* ends with the"
        " client's first line, *link* with the cable's, *address* with DHCP's acknowledgement, *connect* with the"
        " connection at the PC; *answer* is from there to the PC's first byte. Medians over the runs, and the extremes."
    )
    columns = (
        Column("boot ms", "boot_ms"),
        Column("link ms", "link_ms"),
        Column("address ms", "address_ms"),
        Column("connect ms", "connect_ms"),
        Column("answer ms", "answer_ms"),
        Column("least ms", "up_ms", "min"),
        Column("p99 ms", "up_ms", "p99"),
        Column("most ms", "up_ms", "max"),
    )
    settings_type = Settings
    boards_only = True

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        if not said.link_us <= said.ready_us <= said.answered_us:
            raise BadResult(
                f"the client's link_us {said.link_us}, ready_us {said.ready_us} and answered_us {said.answered_us} are"
                " not in the order of time"
            )
        networked_us = said.ready_us - said.link_us
        figures = {
            "up_ms": (said.booted_us + said.ready_us) / 1000,
            "boot_ms": said.booted_us / 1000,
            "link_ms": said.link_us / 1000,
            "network_ms": networked_us / 1000,
            "answer_ms": (said.answered_us - said.ready_us) / 1000,
        }
        session = next((each for each in reversed(sessions) if each.exchanges), None)
        if session is not None and session.leased_us is not None and session.established_us is not None:
            # A driver may report its link only with the address.
            connect_us = min(session.established_us - session.leased_us, networked_us)
            figures |= {"address_ms": (networked_us - connect_us) / 1000, "connect_ms": connect_us / 1000}
        samples = {name: [value] for name, value in figures.items()}
        return Measurement(figures, samples)

    def exchanges(self, settings: Settings) -> int:
        return 1

    def conversation(self, max_bytes: int) -> Hears:
        return Hears(b"ready\n", b"ok")

    def native_settings(self, settings: Settings) -> list[int]:
        return [1]


WORKLOAD = ReadyWorkload()
