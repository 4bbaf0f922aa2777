"""The guests of `firmware/avr` on their emulated boards: the simulated PC downloads from one, or pings it."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, Final

from portbench_engine import PS_PER_S, Board

from portbench.boards import BoardDefinition, BoardError, Ethernet, board_definition
from portbench.boards.emulated.config import engine_settings
from portbench.boards.emulated.trace import SpiFrame
from portbench.runner.trace.vcd import write_vcd

FOLDER: Final = Path(__file__).parents[2] / "firmware" / "avr"
ADDRESS: Final = "192.168.50.100"
"""The guests' own."""
_LINK_US: Final = 100_000
"""From the reset of the chip to its link; the figures begin later."""
_READY: Final = b"ready\r\n"
_BUFFER_BYTES: Final = 2048
_BUFFERS: Final = 100
"""Buffers of a page, where the published ones have 1000."""
_LIMIT_S: Final = 100
_WAYS: Final = {"int16": ("i", _BUFFER_BYTES // 2), "bytes": ("b", _BUFFER_BYTES), "port": ("p", _BUFFER_BYTES)}
"""Ways to fill: the name in a request, and the passes of the loop."""
_PING: Final = bytes(n * 7 & 0xFF for n in range(1300))
_PINGS: Final = 100
_PING_INTERVAL_PS: Final = PS_PER_S * 41 // 1000
_PAYLOAD_AT: Final = 14 + 20 + 8 + 99
"""The place in a frame of the payload byte that is shown: Ethernet, IP and ICMP come before its 100th."""
_MOST_RECORDS: Final = 1_000_000
_CHIP_SELECT_US: Final = 1.0
"""The time that is shown before a byte, with the edge of chip select."""


@cache
def figures(guest: str, board: str, stack_delay_us: int = 0) -> Mapping[str, float]:
    """All figures of a guest by name: rates in Mbit/s, times in ms, cycles. Raises PortbenchError."""
    definition = board_definition(board)
    running = started(guest, definition, stack_delay_us=stack_delay_us)
    return _fill(running, definition) if guest == "fill" else _ping(running)


def started(guest: str, definition: BoardDefinition, **settings: Any) -> Board:
    """Return a board whose guest waits for the PC, 0.5 s after its link came up. Raises BoardError."""
    image = (FOLDER / f"{guest}.hex").read_bytes()
    board = Board.from_image(image, **engine_settings(definition), **{"phy_link_delay_us": _LINK_US, **settings})
    board.run_until(_LINK_US * 10**6 + PS_PER_S // 2)
    if (said := board.uarts[0].read()) != _READY:
        raise BoardError(f"{definition.id}: {guest} said {said!r} in place of {_READY!r}")
    return board


class Download:
    """One GET: when it was asked for, when its page ended, and the bytes of that page."""

    def __init__(self, request: str) -> None:
        self.request, self.bytes, self.asked_us = request, 0, 0.0
        self.ended_us: float | None = None

    def accept(self, _conn: int, _peer: str, now_us: float) -> Any:
        self.asked_us = now_us
        return self.request.encode(), False, False, None

    def receive(self, _conn: int, data: bytes, _now_us: float) -> Any:
        self.bytes += len(data)
        return b"", False, False, None

    def closed(self, _conn: int, _reset: bool, now_us: float) -> Any:
        self.ended_us = now_us
        return b"", False, False, None


def buffer_us(board: Board, kind: str, fills: int) -> float:
    """The time of one of the buffers of a page, each filled `fills` times. Raises BoardError."""
    page = Download(f"GET /{kind}/{fills}/{_BUFFERS} ")
    board.network.connect(ADDRESS, 80, page)
    limit_ps = board.time_ps + _LIMIT_S * PS_PER_S
    while page.ended_us is None:
        if (stop := board.run(PS_PER_S // 1000)) != "time" or board.time_ps > limit_ps:
            raise BoardError(f"{page.request}: ended with {stop!r} after {page.bytes} bytes")
    if page.bytes < _BUFFERS * _BUFFER_BYTES:
        raise BoardError(f"{page.request}: the page has {page.bytes} bytes")
    board.run(PS_PER_S // 100)  # it listens again
    return (page.ended_us - page.asked_us) / _BUFFERS


def _fill(board: Board, definition: BoardDefinition) -> Mapping[str, float]:
    assert definition.avr is not None
    found = {f"{fills} fills": buffer_us(board, "i", fills) / 1e3 for fills in (0, 1, 2, 10)}
    found["network"] = _BUFFER_BYTES * 8 / 1e3 / found["0 fills"]
    for way, (kind, passes) in _WAYS.items():
        fill_us = (buffer_us(board, kind, 10) - buffer_us(board, kind, 2)) / 8
        found[way] = _BUFFER_BYTES * 8 / fill_us
        found[f"{way} pass"] = fill_us * definition.avr.crystal_hz / 1e6 / passes
    return found


def _ping(board: Board) -> Mapping[str, float]:
    # The first one waits for ARP.
    times_ms = [pinged_ms(board, sequence) for sequence in range(_PINGS + 1)][1:]
    frames = _frames_of_ping(board, _PINGS + 1)
    reads, writes = (
        [frame for frame in frames if frame.name.endswith(memory)] for memory in ("RX buffer", "TX buffer")
    )
    return {
        "round trip": mean(times_ms),
        "frame in": (reads[-1].end_us - reads[0].start_us) / 1e3,
        "frame out": (writes[-1].end_us - writes[0].start_us) / 1e3,
        "reply": (writes[0].start_us - reads[-1].end_us) / 1e3,
    }


def pinged_ms(board: Board, sequence: int) -> float:
    """The round trip of one ping. Raises BoardError."""
    board.machine.ping(ADDRESS, sequence, _PING, board.time_ps / 1e6)
    board.run(_PING_INTERVAL_PS)
    match board.machine.ping_replies():
        case [(_, _, answer, sent_us, received_us)] if answer == _PING:
            return float(received_us - sent_us) / 1e3
        case replies:
            raise BoardError(f"ping {sequence}: {len(replies)} answers")


def _frames_of_ping(board: Board, sequence: int) -> list[SpiFrame]:
    """The transfers of the Ethernet chip during one ping."""
    board.machine.spi_log(True)
    pinged_ms(board, sequence)
    return [SpiFrame(*frame) for frame in board.machine.spi_log_take()]


def write_waveform(guest: str, name: str, path: Path, **settings: Any) -> None:
    """Write the wires as a VCD file while the guest writes one payload byte of its answer to a ping to the chip.

    A W5100 takes four bytes for it; in a burst it takes one. Raises BoardError.
    """
    definition = board_definition(name)
    assert isinstance(definition.network, Ethernet)
    board = started(guest, definition, **settings)
    pinged_ms(board, 0)
    board.machine.trace_start(["wire", "pins"], _MOST_RECORDS)
    frames = _frames_of_ping(board, 1)
    board.machine.trace_stop()
    records, _ = board.machine.trace_take()
    writes = [frame for frame in frames if frame.name.endswith("TX buffer")]
    shifts = [each for each in records if each["kind"] == "wire" and each["t_us"] >= writes[0].start_us]
    # Each byte has a frame to itself, or address and length come once before all.
    each, before = (4, 0) if len(writes) > 1 else (1, 4)
    mine = shifts[before + _PAYLOAD_AT * each :][: each + 1]
    start_us, end_us = mine[0]["begin_us"] - _CHIP_SELECT_US, mine[each]["begin_us"]
    write_vcd(path, [*_since(records, start_us, end_us), *mine[:each]], (start_us, end_us), definition.network, guest)


def _since(records: Iterable[dict[str, Any]], start_us: float, end_us: float) -> list[dict[str, Any]]:
    """The pins' levels at `start_us` and their changes up to `end_us`."""
    pins = [record for record in records if record["kind"] == "pins" and record["t_us"] < end_us]
    recent = [record for record in pins if record["t_us"] >= start_us]
    return [dict(pins[len(pins) - len(recent) - 1], t_us=start_us), *recent]
