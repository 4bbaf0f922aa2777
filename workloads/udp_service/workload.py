"""A UDP service of a foreign image: the PC sends a datagram, and the next one after its answer."""

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import Field

from portbench.workloads import BadResult, Column, ForeignServer, Measurement, Metric, Session, WorkloadSettings
from portbench.workloads.conversation import Requests


class Settings(WorkloadSettings):
    """The requests."""

    requests: int = Field(1000, ge=2, le=100_000, description="datagrams, each sent after the answer to the last")
    port: int = Field(7, ge=1, le=65535, description="UDP port of the board")
    payload: str = Field("ping", min_length=1, max_length=1400, description="text of each datagram")


class UdpServiceWorkload(ForeignServer):
    name = "udp_service"
    title = "UDP service"
    headline = Metric("requests_per_s", "requests/s")
    reading = (
        "*requests/s* is answered datagrams, but for the first, divided by the time from the first answer to the last."
        " A datagram without an answer is sent again after a second."
    )
    columns = (
        Column("round trip us", "round_trip_us", "median"),
        Column("p99 us", "round_trip_us", "p99"),
        Column("sent again", "sent_again"),
    )
    settings_type = Settings

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        raise BadResult("a UDP service reports nothing: only the PC times it")

    def exchanges(self, settings: Settings) -> int:
        return settings.requests

    def foreign_calls(self, settings: Settings, max_bytes: int) -> Requests:
        return Requests(settings.port, settings.payload.encode(), settings.requests)

    def measure_calls(self, sessions: Sequence[Session], settings: Settings) -> Measurement:
        (session,) = sessions
        came_us = session.received_us
        if session.error is not None or len(came_us) < settings.requests:
            raise BadResult(f"{session.peer}: {session.error or 'answered too little'} (after {len(came_us)} answers)")
        round_trip_us = [after - before for before, after in pairwise(came_us)]
        total_us = came_us[-1] - came_us[0]
        figures = {
            "total_us": total_us,
            "round_trip_us": statistics.median(round_trip_us),
            "requests_per_s": len(round_trip_us) * 1e6 / total_us,
            "sent_again": float(session.attempts - 1),
        }
        return Measurement(figures, {"round_trip_us": round_trip_us})


WORKLOAD = UdpServiceWorkload()
