"""Checks of the client's result line: a board's output is untrusted input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from portbench.errors import PortbenchError
from portbench.workloads import BadResult, LoadGenerator, Measurement, Session, Workload, WorkloadSettings, read_result

_Count = Annotated[int, Field(ge=0, le=1 << 62)]


class ClientSaid(BaseModel):
    """Figures of every client; None if the client does not tell one. Times are on the client's clock."""

    model_config = ConfigDict(strict=True, frozen=True)

    ready_us: _Count | None = None
    """From the client's start to the start of the workload."""
    link_us: _Count | None = None
    connect_attempts: _Count | None = None
    spi_hz_actual: _Count | None = None


@dataclass(frozen=True)
class ClientResult:
    """A measured run as the client saw it."""

    measurement: Measurement
    said: ClientSaid
    intn: bool | None
    version: str | None
    library: str | None
    """Version of CircuitPython's driver, if it may differ from the deployed one."""


def result_without_error(result: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The result line. Raises PortbenchError if there is none, or if it has an error."""
    if result is None:
        raise PortbenchError("no result line came")
    if "error" in result:
        last = f", last refused with {result['last_connect_error']}" if "last_connect_error" in result else ""
        raise PortbenchError(f"the client failed in stage {result.get('stage', 'unknown')}: {result['error']}{last}")
    return result


def check_calls(sessions: Sequence[Session], load: LoadGenerator) -> None:
    """Raise PortbenchError unless all of the PC's connections to the board ended, and without an unexpected failure."""
    whole = len(sessions) == load.connections
    for session in sessions:
        counted = load.counts_failures and session.established_us is not None and whole
        error = None if counted else session.error
        error = error or (None if session.ended_us is not None else "has not ended")
        if error is not None:
            of = f"connection {session.number + 1} of {load.connections} to {session.peer}"
            raise PortbenchError(f"{of}: {error}")
    if not whole:
        raise PortbenchError(f"the PC opened {len(sessions)} connections to the board, not {load.connections}")


def check_result(
    result: Mapping[str, Any] | None, workload: Workload, settings: WorkloadSettings, sessions: Sequence[Session] = ()
) -> ClientResult:
    """The figures in a result line and in the PC's sessions. Raises PortbenchError for an error or for impossible
    figures."""
    result = result_without_error(result)
    try:
        measurement = workload.check(result, settings, sessions)
        said = read_result(ClientSaid, result)
    except BadResult as error:
        raise PortbenchError(str(error)) from None
    intn = result.get("intn")
    return ClientResult(
        measurement=measurement,
        said=said,
        intn=intn if isinstance(intn, bool) else None,
        version=_text(result, "version"),
        library=_text(result, "library"),
    )


def address_in(result: Mapping[str, Any]) -> str | None:
    """The board's address, as the client tells it."""
    return _text(result, "address")


def _text(result: Mapping[str, Any], key: str) -> str | None:
    value = result.get(key)
    return value if isinstance(value, str) else None
