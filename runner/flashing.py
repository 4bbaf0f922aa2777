"""Flash one image: onto a real or attached board, whose runtime is asked then, or onto a new emulated board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from portbench.boards import BoardDefinition, board_definition
from portbench.boards.definition import board_of_machine
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.images import Image
from portbench.runner.boards_for import AUTO, Listener, open_board, where_for
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, chosen_entries
from portbench.runner.program import image_store
from portbench.runner.progress import simulating
from portbench.runner.stages import Stage, StageClock, check_runtime
from portbench.where import Where
from portbench.workloads import workloads

_STEP_S: Final = 0.05
_CONSOLE_LINES: Final = 5


@dataclass(frozen=True)
class Flashed:
    """A flashed board. `lines`: its signs of life, or why there are none."""

    board: BoardDefinition
    where: Where
    image: Image
    lines: tuple[str, ...]
    alive: bool


def flash(options: BenchOptions, seconds: float, listener: Listener) -> Flashed:
    """Flash the one runtime of `options`; an emulated board then runs for `seconds`. Raises PortbenchError."""
    entries = chosen_entries(options, catalogue.load())
    if len(entries) > 1:
        ids = ", ".join(entry.id for entry in entries)
        raise PortbenchError(f"{ids}: are several images; flash one of them")
    entry = entries[0]
    traits = entry.family.traits
    if traits.hosted or (traits.client_in_image and entry.path is None):
        raise PortbenchError(f"{entry.id}: is not an image; give a .uf2 file or a runtime of: portbench list runtimes")
    board = board_definition(entry.board)
    image = image_store([entry]).obtain(entry)
    ping_pong = workloads()["ping_pong"]
    row = PlannedRow(entry, entry.profiles[0], ping_pong, ping_pong.settings_type(), board, device=options.devices[0])
    where = where_for(row, options)
    if where is Where.EMULATED and row.device == AUTO:
        return _emulated(board, image, seconds)
    return _attached(row, where, image, options, listener)


def _emulated(board: BoardDefinition, image: Image, seconds: float) -> Flashed:
    from portbench.boards.emulated.config import PC_DRIVER_GAP_US
    from portbench.testing.board import Board

    assert image.path is not None
    made = Board(board.id, usb_request_gap_us=PC_DRIVER_GAP_US)
    made.flash(image.path)
    uarts = [] if board.avr else [made.uart(number) for number in range(2)]
    fault = None
    with simulating(seconds) as tell:
        while made.time_us < seconds * 1e6 and (fault := made.fault) is None:
            tell(made.time_us / 1e6, (made.events or ["no event yet"])[-1])
            made.run(_STEP_S)
    events = made.events
    identity = image.file.identity if image.file else None
    if identity and identity.family and identity.machine and board_of_machine(identity.machine) is None:
        events.insert(0, f"the image is for a board without a definition: {identity.machine}")
    printed = _first_lines("console", made.console)
    for number, uart in enumerate(uarts):
        sent = uart.received
        if sent.isascii() and b"\0" not in sent:
            printed += _first_lines(f"UART {number}", sent.decode())
        else:
            printed.append(f"UART {number}: {len(sent)} bytes, not text")
    lines = [*events, *printed]
    frames = sum(not frame.to_board for frame in made.frames)
    if frames:
        lines.append(f"network: {frames} frames sent, address {made.address or 'unknown'}")
    if pins := made.driven_pins:
        lines.append(f"pins: drives {', '.join(pins)}")
    on_usb = any(" usb " in event for event in events)
    alive = bool(on_usb or printed or frames or pins) and fault is None
    if fault is not None:
        if fault not in events:
            lines.append(fault)
    elif not alive:
        lines.append(
            f"no USB, console, network or pin in {seconds:g} s of simulated time; if it only starts slowly, as"
            " CircuitPython 8 does while it makes its drive, use --seconds 30"
        )
    return Flashed(board, Where.EMULATED, image, tuple(lines), alive)


def _first_lines(name: str, text: str) -> list[str]:
    printed = [line for line in text.splitlines() if line.strip()]
    lines = [f"{name}: {line}" for line in printed[:_CONSOLE_LINES]]
    if (more := len(printed) - _CONSOLE_LINES) > 0:
        lines.append(f"{name}: {more} more lines")
    return lines


def _attached(row: PlannedRow, where: Where, image: Image, options: BenchOptions, listener: Listener) -> Flashed:
    clock = StageClock(row.entry.id, options.timeouts_s, lambda stage: listener.log(stage))
    assert image.file is not None
    with open_board(row, where, options, clock.stage(Stage.OPEN), listener) as board:
        board.flash(image.file, clock.stage(Stage.FLASH))
        if not row.entry.family.traits.has_console:
            return Flashed(
                row.board, where, image, (f"{board.name}: flashed; its image has no Python prompt to ask",), True
            )
        board.wait_console(clock.stage(Stage.CONSOLE))
        runtime = board.identify(clock.stage(Stage.IDENTIFY))
        check_runtime(image.file.identity, runtime, board)
        machine = runtime.machine or "a board that it does not name"
        told = f"{board.name}: {runtime.family} {runtime.version} answers, on {machine}"
        return Flashed(row.board, where, image, (told,), True)
