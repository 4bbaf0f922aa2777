"""Select and open the board of a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from portbench.boards import Board, BoardUnavailable, Deadline, DeadlineExceeded
from portbench.boards.kinds import SILENT, Listener, Wanted, emulated, kind_of
from portbench.boards.registry import runtime_dir
from portbench.runner.plan import PlannedRow
from portbench.where import Where

if TYPE_CHECKING:
    from portbench.boards.emulated.board import EmulatedBoard

_LOOK_S = 0.2


def where_for(row: PlannedRow) -> Where:
    """The place where `row` runs: hosted ports on this PC; images on silicon where a board is attached, else emulated.

    `--device` names one board; for a board on another PC, only `--where` tells that it is emulated.
    """
    wanted = _wanted(row)
    return kind_of(wanted).where_of(wanted)


def open_board(
    row: PlannedRow,
    where: Where,
    deadline: Deadline,
    listener: Listener,
    patient: bool = False,
) -> Board:
    """The board that `row` names, ready to be flashed.

    `patient`: wait for it until the deadline, since it leaves the bus at times, for example while a native client runs.
    Raises BoardUnavailable if there is none, BrokenSetup if no board of that kind can be opened at all.
    """
    wanted = _wanted(row, found=where, listener=listener)
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


def emulated_board(row: PlannedRow, listener: Listener = SILENT, **config: Any) -> EmulatedBoard:
    """A new emulated board in the surroundings of `row`, and in `config`. Raises PortbenchError."""
    wanted = _wanted(row, listener=listener)
    opened = emulated.KIND.open(replace(wanted, surroundings={**wanted.surroundings, **config}))
    return cast("EmulatedBoard", opened)


def _wanted(row: PlannedRow, found: Where | None = None, listener: Listener = SILENT) -> Wanted:
    how = row.how
    return Wanted(
        row.board,
        device=f"package:{row.entry.package}" if row.entry.family.traits.hosted else row.device,
        where=row.place.where,
        found=found,
        deployer=how.deployer,
        attribute=how.attribute,
        surroundings={
            "turnaround_us": how.surroundings.turnaround_us,
            "phy_link_delay_us": round(how.surroundings.phy_link_delay_s * 1e6),
            "access_point": how.access_point,
            "pc_ip": how.pc_address,
            "server_port": how.fixed_port,
        },
        listener=listener,
    )
