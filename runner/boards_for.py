"""Select and open the board of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from portbench.boards import Board, BoardDefinition, BoardUnavailable, Deadline, DeadlineExceeded
from portbench.boards.kinds import AUTO, SILENT, Listener, Wanted, emulated, kind_of
from portbench.boards.registry import runtime_dir
from portbench.runner.options import RowOptions
from portbench.runner.plan import PlannedRow
from portbench.where import Where

if TYPE_CHECKING:
    from portbench.boards.emulated.board import EmulatedBoard

_LOOK_S = 0.2


def where_for(row: PlannedRow, options: RowOptions) -> Where:
    """The place where `row` runs: hosted ports on this PC; images on silicon where a board is attached, else emulated.

    `--device` names one board; for a board on another PC, only `--where` tells that it is emulated.
    """
    wanted = _wanted_by(row, options)
    return kind_of(wanted).where_of(wanted)


def open_board(
    row: PlannedRow,
    where: Where,
    options: RowOptions,
    deadline: Deadline,
    listener: Listener,
    patient: bool = False,
) -> Board:
    """The board that `row` names, ready to be flashed.

    `patient`: wait for it until the deadline, since it leaves the bus at times, for example while a native client runs.
    Raises BoardUnavailable if there is none, BrokenSetup if no board of that kind can be opened at all.
    """
    wanted = _wanted_by(row, options, found=where, listener=listener)
    kind = kind_of(wanted)
    if not (patient or kind.runs_already):
        try:
            return kind.open(wanted)
        except BoardUnavailable:
            if row.device.startswith("usb:"):
                runtime_dir()  # raises if unusable, which is why no emulated board was found
            raise
    last: list[BoardUnavailable] = []

    def look() -> Board | None:
        try:
            return kind.open(wanted)
        except BoardUnavailable as error:
            last.append(error)
            return None

    try:
        return deadline.poll(look, _LOOK_S, f"{row.device} to come back")
    except DeadlineExceeded:
        raise last[-1] from None


def emulated_board(
    board: BoardDefinition, options: RowOptions, listener: Listener = SILENT, **config: Any
) -> EmulatedBoard:
    """A new emulated board in the surroundings of `options`; `config` has further ones. Raises PortbenchError."""
    wanted = _wanted(board, options, listener=listener, **config)
    return cast("EmulatedBoard", emulated.KIND.open(wanted))


def _wanted_by(row: PlannedRow, options: RowOptions, **more: Any) -> Wanted:
    device = f"package:{row.entry.package}" if row.entry.family.traits.hosted else row.device
    return _wanted(row.board, options, device=device, **more)


def _wanted(
    board: BoardDefinition,
    options: RowOptions,
    *,
    device: str = AUTO,
    found: Where | None = None,
    listener: Listener = SILENT,
    **config: Any,
) -> Wanted:
    """The board, in the surroundings of `options` and `config` if it is emulated."""
    surroundings = {
        "turnaround_us": options.surroundings.turnaround_us,
        "phy_link_delay_us": round(options.surroundings.phy_link_delay_s * 1e6),
        "access_point": options.access_point,
        "pc_ip": options.pc_address,
        "server_port": options.fixed_port,
    }
    return Wanted(
        board, device, options.where, found, options.deployer, options.attribute, surroundings | config, listener
    )
