"""One time line for Perfetto (ui.perfetto.dev): cores, interrupts, SPI, sockets, cable, waits, pins.

The file is in Perfetto's own format, so `cat` joins it with others; times are nanoseconds of simulated time since
power-up. Pins are named as in traces of CircuitPython's tests (its ports/zephyr-cp): `gpio_emul.00` and so on.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from portbench.boards.emulated.attribution import exception_name
from portbench.boards.emulated.replay import RunRecording
from portbench.boards.emulated.trace import SpiFrame, busiest, cable_us
from portbench.boards.pins import PINS
from portbench.results.attribution import moment_title

_GPIO: Final = "gpio_emul"
_GROUPS: Final = ("waits", "PC", "cable", "network chip", "SPI", "microcontroller", _GPIO)
_SEQUENCE: Final = 0x706F7274
"""Number of this file's packets, and above those of its tracks, which a file that is joined does not use."""
_EVENT: Final = proto.TrackEvent


def perfetto_file(recording: RunRecording, intn_pin: int | None, exchange: str) -> bytes:
    """The file's content. `exchange`: the workload's noun for one."""
    tracks = _Tracks(recording.start_us, recording.end_us)
    _waits(recording, tracks)
    _exchanges(recording, exchange, tracks)
    _cable(recording.records, tracks)
    _sockets(recording.frames, tracks)
    _spi(recording.frames, tracks)
    _intn(recording.records, intn_pin, tracks)
    _cores(recording.records, tracks, recording.mcu)
    _pins(recording.records, tracks)
    return tracks.file()


class _Tracks:
    """Slices, moments and levels by track, cut to the recording's interval."""

    def __init__(self, start_us: float, end_us: float) -> None:
        self.start_us, self.end_us = start_us, end_us
        self._trace = proto.Trace()
        self._ids: dict[tuple[str, str], int] = {}
        self._events: list[tuple[tuple[int, bool, int], dict[str, Any]]] = []
        """Each with its place in the file: at one time ends before begins, and outer begins before inner ones."""
        self._describe("portbench", child_ordering="EXPLICIT")
        for rank, group in enumerate(_GROUPS):
            self._ids[group, ""] = self._describe(group, parent_uuid=_SEQUENCE << 16, sibling_order_rank=rank)

    def slice(self, group: str, track: str, start_us: float, end_us: float, name: str, **about: Any) -> None:
        start_us, end_us = max(start_us, self.start_us), min(end_us, self.end_us)
        took_ns = _ns(end_us) - _ns(start_us)
        if took_ns > 0:
            self._add(group, track, start_us, _EVENT.TYPE_SLICE_BEGIN, -took_ns, name=name, **_annotated(about))
            self._add(group, track, end_us, _EVENT.TYPE_SLICE_END)
        elif start_us <= end_us:
            self.moment(group, track, start_us, name, **about)

    def moment(self, group: str, track: str, at_us: float, name: str, **about: Any) -> None:
        if self.start_us <= at_us <= self.end_us:
            self._add(group, track, at_us, _EVENT.TYPE_INSTANT, name=name, **_annotated(about))

    def level(self, group: str, track: str, at_us: float, high: int) -> None:
        self._add(group, track, at_us, _EVENT.TYPE_COUNTER, counter_value=high)

    def file(self) -> bytes:
        for (time_ns, *_), event in sorted(self._events, key=lambda each: each[0]):
            self._packet(timestamp=time_ns, track_event=event)
        return bytes(self._trace.SerializeToString())

    def _add(self, group: str, track: str, at_us: float, kind: int, rank: int = 0, **what: Any) -> None:
        if (group, track) not in self._ids:
            counter = {"counter": {"unit": "UNIT_COUNT"}} if kind == _EVENT.TYPE_COUNTER else {}
            self._ids[group, track] = self._describe(track, parent_uuid=self._ids[group, ""], **counter)
        place = (_ns(at_us), kind != _EVENT.TYPE_SLICE_END, rank)
        self._events.append((place, {"type": kind, "track_uuid": self._ids[group, track], **what}))

    def _describe(self, name: str, **more: Any) -> int:
        uuid = (_SEQUENCE << 16) + len(self._trace.packet)
        self._packet(track_descriptor={"uuid": uuid, "name": name, **more})
        return uuid

    def _packet(self, **content: Any) -> None:
        flags = 2 if self._trace.packet else 1  # the first one begins the sequence, all others need it
        self._trace.packet.add(trusted_packet_sequence_id=_SEQUENCE, sequence_flags=flags, **content)


def _annotated(about: dict[str, Any]) -> dict[str, Any]:
    return {"debug_annotations": [{"name": name, "string_value": str(value)} for name, value in about.items()]}


def _ns(time_us: float) -> int:
    return round(time_us * 1000)


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


def _pins(records: Iterable[dict[str, Any]], tracks: _Tracks) -> None:
    last: int | None = None
    for record in records:
        if record["kind"] == "pins":
            for pin in range(PINS):
                if last is None or (record["level"] ^ last) >> pin & 1:
                    tracks.level(_GPIO, f"{_GPIO}.{pin:02}", record["t_us"], record["level"] >> pin & 1)
            last = record["level"]
