"""What the harness asks a board's process that is to have another board beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from portbench.boards.definition import board_definition
from portbench.boards.emulated.config import CONFIG
from portbench.boards.emulated.control import Request
from portbench.boards.emulated.partner import Partner, partner_config

if TYPE_CHECKING:
    from portbench.boards.emulated.process import BoardProcess


def _beside(board: BoardProcess, request: Request) -> None:
    """`board`, `config` and `flash`, a file: another board, which is run by itself until it listens. In its next
    measured run, this one is on its switch. Answers with where it listens."""
    config = partner_config(CONFIG.validate_json(request.arguments["config"]), board.config)
    flash = Path(request.arguments["flash"]).read_bytes()
    partner = Partner(board_definition(request.arguments["board"]), config, flash, board.note)
    listening = partner.listen()
    board.beside = partner
    request.answer(address=str(listening.address), port=listening.port)


def _partner(board: BoardProcess, request: Request) -> None:
    """What has become of the other board; `over`: nothing more will."""
    partner = board.partner
    if partner is None:
        raise ValueError("no board is beside this one")
    machine = partner.machine
    request.answer(
        over=partner.is_over,
        result=partner.result,
        console=partner.console.lines,
        time_us=machine.time_us,
        stats={name: value for name, value in machine.stats().items() if isinstance(value, (int, float))},
    )


def _partner_cable(board: BoardProcess, request: Request) -> None:
    if board.partner is None:
        raise ValueError("no board is beside this one")
    board.partner.machine.set_cable(bool(request.arguments["plugged"]))
    request.answer()


OPERATIONS: Final = {"beside": _beside, "partner": _partner, "partner_cable": _partner_cable}
