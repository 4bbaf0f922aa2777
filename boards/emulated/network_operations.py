"""What the control channel asks of an emulated board's network: ports that lead to it, and pings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from portbench.boards.emulated.control import Request
from portbench.boards.emulated.forward_rule import parse_rule

if TYPE_CHECKING:
    from portbench.boards.emulated.process import BoardProcess


def _forward(board: BoardProcess, request: Request) -> None:
    """`rule`: from now on; see `boards.emulated.forward_rule`. Answers with the port that was chosen."""
    request.answer(**board.forwards.add(parse_rule(request.arguments["rule"])))


def _end_forward(board: BoardProcess, request: Request) -> None:
    """`protocol` and `host_port` do not lead to the board any more."""
    board.forwards.remove(request.arguments["host_port"], request.arguments["protocol"])
    request.answer()


def _forwards(board: BoardProcess, request: Request) -> None:
    """All rules, and what came of them."""
    request.answer(forwards=board.forwards.facts())


def _ping(board: BoardProcess, request: Request) -> None:
    """See `boards.emulated.pings.Pings.send`."""
    given = request.arguments
    request.answer(**board.pings.send(board.machine, given.get("address"), given["size"], given.get("at_us", 0.0)))


def _pings(board: BoardProcess, request: Request) -> None:
    """The answers to the pings of these `numbers` so far."""
    request.answer(**board.pings.take(board.machine, request.arguments["numbers"]))


OPERATIONS: Final[dict[str, Callable[[BoardProcess, Request], None]]] = {
    "forward": _forward,
    "end_forward": _end_forward,
    "forwards": _forwards,
    "ping": _ping,
    "pings": _pings,
}
