"""One time line for Perfetto (ui.perfetto.dev) and chrome://tracing: cores, interrupts, SPI, sockets, cable, waits.

The file is in the Trace Event Format; its times are microseconds of simulated time since power-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from portbench.boards.emulated.attribution import exception_name
from portbench.boards.emulated.replay import RunRecording
from portbench.boards.emulated.trace import SpiFrame, busiest, cable_us
from portbench.results.attribution import moment_title

Event = dict[str, Any]

_METADATA: Final = {"ph": "M", "cat": "__metadata", "ts": 0}
"""Metadata as Chrome writes it; its DevTools ignore events without a category."""
_PROCESSES: Final = ("waits", "PC", "cable", "network chip", "SPI", "microcontroller")


def trace_events(recording: RunRecording, intn_pin: int | None, exchange: str) -> dict[str, Any]:
    """The file's content. `exchange`: the workload's noun for one."""
    tracks = _Tracks(recording.start_us, recording.end_us)
    _waits(recording, tracks)
    _exchanges(recording, exchange, tracks)
    _cable(recording.records, tracks)
    _sockets(recording.frames, tracks)
    _spi(recording.frames, tracks)
    _intn(recording.records, intn_pin, tracks)
    _cores(recording.records, tracks, recording.mcu)
    return {"displayTimeUnit": "ns", "traceEvents": [*tracks.names(), *tracks.events]}


class _Tracks:
    """Slices and moments by track, cut to the recording's interval."""

    def __init__(self, start_us: float, end_us: float) -> None:
        self.start_us, self.end_us = start_us, end_us
        self.events: list[Event] = []
        self._ids: dict[tuple[str, str], int] = {}

    def slice(self, process: str, track: str, start_us: float, end_us: float, name: str, **about: Any) -> None:
        start_us, end_us = max(start_us, self.start_us), min(end_us, self.end_us)
        if start_us <= end_us:
            place = self._place(process, track)
            # Not rounded again: readers add the two, and rounding could make adjacent slices overlap.
            took = {"ts": _ns(start_us), "dur": _ns(end_us) - _ns(start_us)}
            self.events.append({"ph": "X", "name": name, "cat": process, **place, **took, "args": about})

    def moment(self, process: str, track: str, at_us: float, name: str, **about: Any) -> None:
        if self.start_us <= at_us <= self.end_us:
            place = self._place(process, track)
            self.events.append(
                {"ph": "i", "s": "t", "name": name, "cat": process, **place, "ts": _ns(at_us), "args": about}
            )

    def names(self) -> Iterator[Event]:
        for order, process in enumerate(_PROCESSES):
            pid = order + 1
            yield {**_METADATA, "name": "process_name", "pid": pid, "tid": 0, "args": {"name": process}}
            yield {**_METADATA, "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": order}}
        for (process, track), tid in self._ids.items():
            pid = _PROCESSES.index(process) + 1
            yield {**_METADATA, "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": track}}

    def _place(self, process: str, track: str) -> dict[str, int]:
        tid = self._ids.setdefault((process, track), len(self._ids) + 1)
        return {"pid": _PROCESSES.index(process) + 1, "tid": tid}


def _ns(time_us: float) -> float:
    """Microseconds rounded to a nanosecond, the resolution of Perfetto."""
    return round(time_us, 3)


def _waits(recording: RunRecording, tracks: _Tracks) -> None:
    for moment in () if recording.spent is None else recording.spent.moments:
        tracks.slice("waits", "where the time goes", moment.start_us, moment.end_us, moment_title(moment.cause))


def _exchanges(recording: RunRecording, exchange: str, tracks: _Tracks) -> None:
    session = busiest(recording.figures.sessions)
    if session is None:
        return
    for number, (start_us, end_us) in enumerate(pairwise(session.received_us), 2):
        if end_us > tracks.start_us and start_us < tracks.end_us:
            tracks.slice("PC", f"{exchange}s", start_us, end_us, f"{exchange} {number}")


def _cable(records: Iterable[dict[str, Any]], tracks: _Tracks) -> None:
    for record in records:
        if record["kind"] != "lan":
            continue
        length, t_us = record["len"], record["t_us"]
        took_us = cable_us(length)
        if record["from_board"]:
            tracks.slice("cable", "board to PC", t_us, t_us + took_us, f"{length} bytes")
        else:
            tracks.slice("cable", "PC to board", t_us - took_us, t_us, f"{length} bytes")


def _sockets(frames: Iterable[SpiFrame], tracks: _Tracks) -> None:
    """Socket states as the driver reads them: each lasts until the driver reads another."""
    states: dict[str, tuple[float, str]] = {}
    for frame in frames:
        socket, _, register = frame.name.partition("_")
        if register == "CR" and frame.write and frame.meaning:
            tracks.moment("network chip", f"{socket} commands", frame.end_us, frame.meaning)
        elif register == "SR" and not frame.write and frame.meaning:
            since_us, state = states.get(socket, (frame.end_us, frame.meaning))
            if state != frame.meaning:
                tracks.slice("network chip", f"{socket} as read", since_us, frame.end_us, state)
                since_us = frame.end_us
            states[socket] = (since_us, frame.meaning)
    for socket, (since_us, state) in states.items():
        tracks.slice("network chip", f"{socket} as read", since_us, tracks.end_us, state)


def _spi(frames: Iterable[SpiFrame], tracks: _Tracks) -> None:
    for frame in frames:
        about = {
            "address": f"0x{frame.address:04x}",
            "bytes": frame.length,
            "data": frame.data.hex(" "),
            "says": frame.meaning,
        }
        name = f"{'write' if frame.write else 'read'} {frame.name}"
        tracks.slice("SPI", frame.device, frame.start_us, frame.end_us, name, **about)


def _intn(records: Iterable[dict[str, Any]], intn_pin: int | None, tracks: _Tracks) -> None:
    if intn_pin is None:
        return
    low_us: float | None = None
    for record in records:
        if record["kind"] == "pins":
            low = not record["level"] >> intn_pin & 1
            if low and low_us is None:
                low_us = record["t_us"]
            elif not low and low_us is not None:
                tracks.slice("network chip", "INTn", low_us, record["t_us"], "low")
                low_us = None
    if low_us is not None:
        tracks.slice("network chip", "INTn", low_us, tracks.end_us, "low")


def _cores(records: Iterable[dict[str, Any]], tracks: _Tracks, mcu: str) -> None:
    running: dict[int, float] = {}
    handling: dict[int, list[tuple[float, int]]] = {}
    for record in records:
        t_us = record["t_us"]
        if record["kind"] == "cores":
            core = record["core"]
            if record["running"]:
                running[core] = t_us
            elif core in running:
                tracks.slice("microcontroller", f"core {core}", running.pop(core), t_us, "runs")
        elif record["kind"] == "irq":
            stack = handling.setdefault(record["core"], [])
            if record["entry"]:
                stack.append((t_us, record["number"]))
            elif stack:
                _handler(record["core"], *stack.pop(), t_us, tracks, mcu)
    for core, since_us in running.items():
        tracks.slice("microcontroller", f"core {core}", since_us, tracks.end_us, "runs")
    for core, stack in handling.items():
        for since_us, number in stack:
            _handler(core, since_us, number, tracks.end_us, tracks, mcu)


def _handler(core: int, start_us: float, number: int, end_us: float, tracks: _Tracks, mcu: str) -> None:
    tracks.slice("microcontroller", f"core {core} interrupts", start_us, end_us, exception_name(number, mcu))
