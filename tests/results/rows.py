"""Rows and runs to put in files and tables."""

from datetime import UTC, datetime
from typing import Any, Final

from portbench.results.model import Machine, Row, RunFile

START: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MACHINE: Final = Machine(
    system="Linux", release="6", architecture="x86_64", processor="CPU", cores=2, python="CPython 3.11"
)
_PING_PONG: Final[dict[str, Any]] = {
    "workload": "ping_pong",
    "runtime": "some-1.0",
    "build": "some.uf2",
    "image_file": "some.uf2",
    "family": "micropython",
    "version": "1.0",
    "where": "emulated",
    "status": "measured",
    "headline": {"name": "messages_per_s", "unit": "messages/s"},
}


def row(total_us: float, index: int = 0, trips: list[float] | None = None, **changes: Any) -> Row:
    """A ping-pong of as many messages as `trips` (four alike, unless told) in `total_us`."""
    trips = trips or [total_us / 4] * 4
    figures = {"total_us": total_us, "messages_per_s": len(trips) * 1e6 / total_us} | changes.pop("figures", {})
    measured: dict[str, Any] = {
        "run_index": index,
        "settings": {"messages": len(trips)},
        "figures": figures,
        "samples": {"round_trip_us": trips},
    }
    return Row(**(_PING_PONG | measured | changes))


def other_row(lag_us: float, **changes: Any) -> Row:
    """Make a row of a workload that is not among those here; less is better."""
    measured: dict[str, Any] = {
        "workload": "far_away",
        "settings": {"depth": 3},
        "headline": {"name": "lag_us", "unit": "us", "better": "lower"},
        "figures": {"lag_us": lag_us, "ready_us": 2_000_000, "hops": 7},
        "samples": {"round_trip_us": [1, 1, 1, 1, 9, 9, 9, 9]},
    }
    return Row(**(_PING_PONG | measured | changes))


def missing(runtime: str, status: str, reason: str, index: int = 0, **changes: Any) -> Row:
    """A row that has no figures."""
    told: dict[str, Any] = {
        "runtime": runtime,
        "family": "wiznet",
        "version": "",
        "status": status,
        "reason": reason,
        "run_index": index,
        "headline": None,
    }
    return Row(**(_PING_PONG | told | changes))


def run_of(*rows: Row, **changes: Any) -> RunFile:
    return RunFile(started_utc=START, machine=MACHINE, rows=list(rows), **changes)
