"""The rate at which a board serves pages to a PC that asks like ApacheBench, and the time of each stage."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from portbench.workloads import (
    BadResult,
    Called,
    Column,
    ForeignServer,
    LoadGenerator,
    Measurement,
    Metric,
    Native,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.http.conversation import FOREIGN_PORT, PATH, SHORT, WRONG, Alike, End, GetPages, Page, any_page

_FAILURES: Final = ("reset", "short", "wrong")
PERCENTS: Final = (50, 66, 75, 80, 90, 95, 98, 99, 100)
"""Shares of the requests, as ApacheBench prints them."""


class Settings(WorkloadSettings):
    requests: int = Field(default=100, ge=1, le=10_000, description="pages of one run")
    page: Page = Field(default="static", description="static (137 bytes) or dynamic (a counter and an ADC reading)")
    at_once: int = Field(default=1, ge=1, le=8, description="connections that are open at once")
    keep_alive: int = Field(default=1, ge=1, le=10_000, description="pages asked for on one connection")

    path: str | None = Field(
        default=None,
        pattern=r"^/[!-~]*$",
        max_length=1000,
        description="path of the page on a foreign image's server, if it differs from our clients' path",
    )

    @model_serializer(mode="wrap")
    def _as_asked(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omits an unset path: our clients do not use it, and each deployed byte costs a board time."""
        values: dict[str, Any] = whole(self)
        return {name: value for name, value in values.items() if name != "path" or value is not None}

    @property
    def connections(self) -> int:
        """Connections without the last one, which tells the board to stop."""
        return math.ceil(self.requests / self.keep_alive)


class Result(WorkloadResult):
    asked: Annotated[int, Field(ge=1)]
    """Complete requests at the board, including the one that tells it to stop."""
    faults: Annotated[int, Field(ge=0)]
    """Exceptions of the board's sockets; even a complete page may have one."""


class PagesWorkload(Called):
    """The pages, whatever serves them on the board."""

    headline = Metric("requests_per_s", "requests/s")
    reading = (
        "a *request* is one page, timed by the PC. As in ApacheBench, *connect* ends with the handshake, *waiting* is"
        " from the request to the answer's first byte, *total* is from the connection's first packet to the answer's"
        " last byte; all are medians. *failed* pages were missing, incomplete or wrong."
    )
    columns = (
        Column("connect ms", "connect_us", "median", 0.001),
        Column("waiting ms", "waiting_us", "median", 0.001),
        Column("total ms", "total_us", "median", 0.001),
        Column("p99 ms", "total_us", "p99", 0.001),
        Column("failed", "failed"),
    )
    settings_type = Settings
    quick_settings: ClassVar = {"requests": 5}
    drifting = "total_us"
    exchange = "request"

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        return self.measured(sessions[: settings.connections], settings, said)

    def measured(self, asked: Sequence[Session], settings: Settings, said: Result | None) -> Measurement:
        """`said`: the board's report; None for a silent board."""
        samples: dict[str, list[float]] = {"connect_us": [], "waiting_us": [], "processing_us": [], "total_us": []}
        for session in asked:
            _add_stages(session, samples)
        completed = len(samples["total_us"])
        if not completed:
            first = next((session.error for session in asked if session.error is not None), "none was asked for")
            raise BadResult(f"no page came right: {first}")
        if said is not None and said.asked <= completed:
            raise BadResult(f"the client was asked for {said.asked - 1} pages, and {completed} came right")
        began_us = min(session.started_us for session in asked)
        ended_us = max(session.ended_us or session.started_us for session in asked)
        failures = _failures(asked)
        figures = {
            "completed": float(completed),
            "failed": float(settings.requests - completed),
            **{f"failed_{kind}": float(failures[kind]) for kind in _FAILURES},
            "refused_attempts": float(sum(session.attempts - 1 for session in asked)),
            **({} if said is None else {"board_faults": float(said.faults)}),
            "duration_us": ended_us - began_us,
        }
        return Measurement(self.derive(figures | connection_times(samples), settings), samples)

    def check_room(self, family: str, settings: Settings) -> None:
        if settings.path is not None and family != "foreign":
            raise ValueError(f"path is {settings.path!r}: only foreign images have other paths; leave out -s path")

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        """Each request, from its connection's first packet or the previous answer to the answer's last byte.

        Overlapping requests make one interval, since the board works for all of them at the same time.
        """
        found: list[Timed] = []
        for session in sessions[:-1]:  # the last one tells the board to stop
            began_us = session.started_us
            for came_us in session.received_us:
                found.append(Timed("request", came_us - began_us, start_us=began_us))
                began_us = came_us
        found.sort(key=_start_us)
        if any(_end_us(one) > _start_us(two) for one, two in pairwise(found)):
            began_us = _start_us(found[0])
            return [Timed("run", max(map(_end_us, found)) - began_us, start_us=began_us)]
        return found

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        if "duration_us" not in figures:
            return dict(figures)
        return {**figures, "requests_per_s": figures["completed"] * 1e6 / figures["duration_us"]}

    def exchanges(self, settings: Settings) -> int:
        return settings.requests + 1

    def load_generator(self, settings: Settings, max_bytes: int) -> LoadGenerator:
        return _calls(settings, lambda pages: GetPages(settings.page, pages), farewell=End)


class HttpWorkload(PagesWorkload, ForeignServer, Native):
    name = "http"
    title = "HTTP"

    def native_settings(self, settings: Settings) -> list[int]:
        return [1]

    def measure_calls(self, sessions: Sequence[Session], settings: Settings) -> Measurement:
        return self.measured(sessions, settings, None)

    def foreign_calls(self, settings: Settings, max_bytes: int) -> LoadGenerator:
        path = PATH[settings.page] if settings.path is None else settings.path.encode("ascii")
        fault = Alike().fault if settings.page == "static" else any_page
        return _calls(settings, lambda pages: GetPages(settings.page, pages, path, fault), port=FOREIGN_PORT)


def _start_us(timed: Timed) -> float:
    assert timed.start_us is not None  # all of them are the PC's
    return timed.start_us


def _end_us(timed: Timed) -> float:
    return _start_us(timed) + timed.duration_us


def _calls(
    settings: Settings,
    asks: Callable[[int], GetPages],
    *,
    farewell: Callable[[], End] | None = None,
    port: int | None = None,
) -> LoadGenerator:
    """`asks`: makes a connection that asks for so many pages."""
    counts = _pages_of_connections(settings)
    return LoadGenerator(
        lambda: asks(next(counts)),
        settings.connections,
        at_once=settings.at_once,
        counts_failures=True,
        farewell=farewell,
        port=port,
    )


def _pages_of_connections(settings: Settings) -> Iterator[int]:
    left = settings.requests
    while left:
        pages = min(left, settings.keep_alive)
        yield pages
        left -= pages


def _add_stages(session: Session, samples: dict[str, list[float]]) -> None:
    """Add a sample of each stage for each correct page; only the first page of a connection has a connect time."""
    began_us = session.established_us
    if began_us is None:
        return
    for number, came_us in enumerate(session.received_us):
        connect_us = began_us - session.started_us if number == 0 else 0.0
        samples["connect_us"].append(connect_us)
        samples["processing_us"].append(came_us - began_us)
        samples["total_us"].append(connect_us + came_us - began_us)
        if number == 0 and session.first_byte_us is not None and session.asked_us is not None:
            samples["waiting_us"].append(session.first_byte_us - session.asked_us)
        began_us = came_us


def connection_times(samples: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The figures that ApacheBench prints: min, mean, sample standard deviation, median and max of each stage, and the
    times within which the fastest requests, in percent, were served."""
    figures: dict[str, float] = {}
    for name, times_us in samples.items():
        if times_us:
            stage = name.removesuffix("_us")
            figures |= {
                f"{stage}_min_us": min(times_us),
                f"{stage}_mean_us": statistics.fmean(times_us),
                f"{stage}_sd_us": statistics.stdev(times_us) if len(times_us) > 1 else 0.0,
                f"{stage}_median_us": statistics.median(times_us),
                f"{stage}_max_us": max(times_us),
            }
    ordered = sorted(samples.get("total_us", ()))
    for percent in PERCENTS if ordered else ():
        figures[f"total_{percent}_percent_us"] = ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
    return figures


def _failures(sessions: Sequence[Session]) -> dict[str, int]:
    """The number of failed connections, by kind; a wrong page also ends its connection."""
    found = dict.fromkeys(_FAILURES, 0)
    for session in sessions:
        if session.error is not None:
            kind = "wrong" if session.error.startswith(WRONG) else "short"
            if not session.error.startswith((WRONG, SHORT)):
                kind = "reset"
            found[kind] += 1
    return found


WORKLOAD = HttpWorkload()
