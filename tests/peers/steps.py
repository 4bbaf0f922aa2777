"""The steps that a file of programs names: each acts on the program's board, or waits for an expected result.

The first key of a step is its function here, the others are that function's: `{ says = "Hello", on = "usb" }`.
`within_s`: simulated seconds that it may take, if not as many as the file says. Patterns are regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from portbench.boards.pins import parse_pin
from portbench.testing.errors import NothingCame

if TYPE_CHECKING:
    from portbench.testing import Board

T = TypeVar("T")
_LOOK_S: Final = 1e-3 + 17e-9
"""A signal that repeats evenly must not be sampled in one phase only."""
_PING_DATA: Final = b"portbench"
_PING_AGAIN_PS: Final = 500_000_000_000
_PS_PER_S: Final = 10**12
_UARTS: Final = {"uart0": 0, "uart1": 1}


def do(board: Board, entry: dict[str, Any], within_s: float) -> None:
    """Do the step of an entry such as `{ says = "Hello" }`. Raises NothingCame."""
    (name, value), *others = entry.items()
    STEPS[name](board, value, **{"within_s": within_s, **dict(others)})


def until(board: Board, look: Callable[[], T], within_s: float, what: str) -> T:
    """Run until `look` returns something true, and return that. Raises NothingCame."""
    end_ps = board.time_ps + round(within_s * _PS_PER_S)
    while not (found := look()):
        if board.fault is not None:
            raise NothingCame(f"{what} did not come, and cannot: {board.fault}")
        if board.time_ps >= end_ps:
            raise NothingCame(f"{what} did not come within {within_s:g} s of simulated time")
        board.run(_LOOK_S)
    return found


def connects(board: Board, port: int, within_s: float, gets: str, sends: str = "", to: str | None = None) -> None:
    """Connect from the simulated PC to a port of the board. `to`: its address, if not the one that it sends from."""
    connection = board.connect(port, to, within_s)
    if sends:
        connection.send(sends.encode())
    connection.expect(gets, within_s)


def enumerates(board: Board, pattern: str, within_s: float) -> None:
    """Wait for a match in the PC's view of a configured USB device.

    The view is `vid:pid manufacturer product`, then the classes without a driver of ours.
    """

    def view() -> str:
        usb = board.machine.usb()
        if not usb["configured"]:
            return ""
        device = f"{usb['vid']:04x}:{usb['pid']:04x} {usb['manufacturer']} {usb['product']}"
        ports = [f"serial{number}" for number in range(usb["serial_ports"])]
        storage = ["storage"] if usb["storage"] else []
        return " ".join([device, *ports, *storage, *map(str, usb["unused"])])

    until(board, lambda: re.search(pattern, view()), within_s, f"{pattern!r} on USB")


def event(board: Board, pattern: str, within_s: float) -> None:
    """Wait for a fault, a reset or a USB event."""
    until(board, lambda: any(re.search(pattern, each) for each in board.events), within_s, f"{pattern!r}")


def frame(board: Board, pattern: str, within_s: float, to_board: bool = False) -> None:
    """Wait for an Ethernet frame in hex digits, from the board or to it."""
    what = f"a frame {'to' if to_board else 'from'} the board with {pattern!r}"
    board.expect_frame(lambda each: each.to_board == to_board and re.search(pattern, each.data.hex()), within_s, what)


def holds(board: Board, pin: str, within_s: float) -> None:
    """Drive a pin low, high or to a voltage from outside (`GP15=low`), or release it (`GP15=open`)."""
    board.machine.set_voltage(*parse_pin(pin))


def is_at(board: Board, pin: str, within_s: float) -> None:
    """Wait until a pin has a level: `GP25=high`."""
    number, volts = parse_pin(pin)
    until(board, lambda: board.machine.pin(number) == bool(volts), within_s, pin)


def listens(
    board: Board, port: int, within_s: float, gets: str = "", sends: str = "", times: int = 1, then_gets: str = ""
) -> None:
    """Wait until the board connects to a port of the simulated PC. `times`: how often `sends` is sent in a row."""
    connection = board.listen(port).accept(within_s)
    connection.expect(gets, within_s)
    if sends:
        connection.send(sends.encode() * times)
    connection.expect(then_gets, within_s)


def pings(board: Board, address: str, within_s: float) -> None:
    """Ping the board at that address from the simulated PC until it answers."""
    asked: set[int] = set()

    def look() -> bool:
        if (number := board.time_ps // _PING_AGAIN_PS) not in asked:
            asked.add(number)
            board.machine.ping(address, len(asked), _PING_DATA)
        replies = board.machine.ping_replies()
        return any(peer == address and data == _PING_DATA for peer, _, data, _, _ in replies)

    until(board, look, within_s, f"an answer of {address} to a ping")


def runs(board: Board, seconds: float, within_s: float) -> None:
    """Wait for so many simulated seconds, in which the board goes on."""
    end_ps = board.time_ps + round(seconds * _PS_PER_S)
    until(board, lambda: board.time_ps >= end_ps, seconds, f"{seconds:g} s of running")


def says(board: Board, pattern: str, within_s: float, on: str = "uart0") -> None:
    """Wait for a match on a line (`uart0`, `uart1`, `usb`), after the last match there."""
    (board if on == "usb" else board.uart(_UARTS[on])).expect(pattern, within_s)


def toggles(
    board: Board, name: str, within_s: float, edges: int = 4, period_us: float = 0, tolerance_us: float = 0
) -> None:
    """Wait until a pin's level has changed so often.

    `period_us`: the average from one rising edge to the next, to 1 part in 100 or to `tolerance_us`.
    """
    pin = board.pin(name)
    pin.edges.clear()
    until(board, lambda: len(pin.edges) >= edges, within_s, f"{edges} edges at {name}")
    rising_us = [edge.time_us for edge in pin.edges if edge.high]
    if not period_us:
        return
    if len(rising_us) < 2:
        raise NothingCame(f"{name}: no period in {len(pin.edges)} edges; ask for more")
    came_us = (rising_us[-1] - rising_us[0]) / (len(rising_us) - 1)
    if abs(came_us - period_us) > (tolerance_us or period_us / 100):
        raise NothingCame(f"{name}: a period of {came_us:g} us came, not {period_us:g} us")


def types(board: Board, text: str, within_s: float, on: str = "uart0") -> None:
    """Type on a line."""
    if on == "usb":
        board.type(text)
    else:
        board.uart(_UARTS[on]).send(text.encode(), within_s)


STEPS: Final[dict[str, Callable[..., None]]] = {
    each.__name__: each
    for each in (connects, enumerates, event, frame, holds, is_at, listens, pings, runs, says, toggles, types)
}
