"""The client's result line, checked: what a board printed is input like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class RunFailed(Exception):
    """The run gave no figures that can be kept. One line that says why."""


@dataclass(frozen=True)
class ClientResult:
    """A measured run as the client saw it; times in microseconds on the client's clock.

    `round_trip_us` has one entry per message. Optional figures are None where the client does not report them.
    """

    messages: int
    total_us: int
    round_trip_us: list[int]
    ready_us: int | None
    link_us: int | None
    connect_attempts: int | None
    address: str | None
    spi_hz_actual: int | None
    intn: bool | None
    version: str | None
    machine: str | None


def check_result(result: dict[str, Any] | None, messages: int) -> ClientResult:
    """The figures in a result line. Raises RunFailed for an error line, and for figures that cannot be."""
    if result is None:
        raise RunFailed("no result line came")
    if "error" in result:
        last = f", last refused with {result['last_connect_error']}" if "last_connect_error" in result else ""
        raise RunFailed(f"the client failed in stage {result.get('stage', 'unknown')}: {result['error']}{last}")
    measured = _whole(result, "messages", 1)
    if measured != messages:
        raise RunFailed(f"the client measured {measured} messages, not {messages}")
    total_us = _whole(result, "total_us", 1)
    round_trip_us = result.get("round_trip_us")
    if not isinstance(round_trip_us, list) or not all(_is_whole(us) and us >= 0 for us in round_trip_us):
        raise RunFailed("the client's round_trip_us is no list of whole numbers")
    if len(round_trip_us) != messages:
        raise RunFailed(f"the client reports {len(round_trip_us)} round trips for {messages} messages")
    if sum(round_trip_us) > total_us:
        raise RunFailed(
            f"the client's round trips add up to {sum(round_trip_us)} us, more than its total {total_us} us"
        )
    intn = result.get("intn")
    return ClientResult(
        messages=measured,
        total_us=total_us,
        round_trip_us=round_trip_us,
        ready_us=_optional_whole(result, "ready_us"),
        link_us=_optional_whole(result, "link_us"),
        connect_attempts=_optional_whole(result, "connect_attempts"),
        address=_optional_text(result, "address"),
        spi_hz_actual=_optional_whole(result, "spi_hz_actual"),
        intn=intn if isinstance(intn, bool) else None,
        version=_optional_text(result, "version"),
        machine=_optional_text(result, "machine"),
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(result: dict[str, Any], key: str, low: int) -> int:
    value = result.get(key)
    if not _is_whole(value) or value < low:  # type: ignore[operator]  # _is_whole has seen that it is an int
        raise RunFailed(f"the client's {key} is {value!r}, not a whole number of {low} or more")
    assert isinstance(value, int)
    return value


def _optional_whole(result: dict[str, Any], key: str) -> int | None:
    return None if result.get(key) is None else _whole(result, key, 0)


def _optional_text(result: dict[str, Any], key: str) -> str | None:
    value = result.get(key)
    return value if isinstance(value, str) else None
