"""Flash one image: onto a real or attached board, whose runtime is asked then, or onto a new emulated board."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from portbench.boards import BoardDefinition, board_definition
from portbench.boards.definition import board_of_machine
from portbench.boards.kinds import AUTO, Listener
from portbench.boards.pins import PINS
from portbench.engine import needs_engine
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Family
from portbench.firmware.images import Image
from portbench.runner.boards_for import open_board, where_for
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, chosen_entries
from portbench.runner.program import image_store
from portbench.runner.progress import simulating
from portbench.runner.stages import Stage, StageClock, check_runtime
from portbench.where import Where
from portbench.workloads import workloads

_PRINTED: Final = re.compile(r"console: |UART \d: |not modelled: ")
_STEP_S: Final = 0.05
_FIRST_LINES: Final = 5
_FIRST_BYTES: Final = 8
_TITLE: Final = re.compile(r"\x1b\]0;([^\x07\x1b\n]*)(?:\x07|\x1b\\)")
_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[@-~]")
_SLOW_S: Final = 30.0
_ENTER_S: Final = 0.2
"""For an answer to a key."""
_ENUMERATION_S: Final = 1.0
"""Several times what enumeration takes."""
_TEXT_SHARE: Final = 0.75
"""Random bytes are printable ASCII in 0.4 of all cases."""


@dataclass(frozen=True)
class Flashed:
    """A flashed board. `lines`: its signs of life, or why there are none. `alive`: it answers."""

    board: BoardDefinition
    where: Where
    image: Image
    lines: tuple[str, ...]
    alive: bool

    @property
    def brief(self) -> list[str]:
        """The lines without all but the first of the console, of each UART and of parts that are not modelled."""
        brief: list[str] = []
        for printed, group in groupby(self.lines, key=lambda line: (_PRINTED.match(line) or [""])[0]):
            lines = list(group)
            left = len(lines) - _FIRST_LINES if printed else 0
            brief += lines if left <= 0 else lines[:_FIRST_LINES]
            if left > 0:
                brief.append(f"{printed}{left} more line{'s'[: left > 1]}; --json shows all")
        return brief


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
    row = PlannedRow(
        entry,
        entry.profiles[0],
        ping_pong,
        ping_pong.settings_type(),
        board,
        device=options.place.devices[0],
        place=options.place,
        how=options.how,
    )
    where = where_for(row)
    if where is Where.EMULATED and row.device == AUTO:
        needs_engine()
        if options.place.where == AUTO:
            listener.log(f"no {board.id} on USB: an emulated one boots the image; --where silicon needs a real one")
        return _emulated(entry.family, board, image, seconds)
    return _attached(row, where, image, listener)


def _emulated(family: Family, board: BoardDefinition, image: Image, seconds: float) -> Flashed:
    from portbench.boards.emulated.config import PC_DRIVER_GAP_US
    from portbench.boards.emulated.liveness import Erasure
    from portbench.testing.board import Board

    assert image.file is not None
    made = Board(board.id, usb_request_gap_us=PC_DRIVER_GAP_US)
    made.flash(image.file.path)
    erasure = Erasure({} if image.file.content is None else image.file.content.flash_bytes())
    uarts = [] if board.avr else [made.uart(number) for number in range(2)]
    fault = None
    with simulating(seconds) as tell:
        while made.time_us < seconds * 1e6 and (fault := made.fault) is None:
            tell(made.time_us / 1e6, (made.events or ["no event yet"])[-1])
            made.run(_STEP_S)
            erasure.look(made.machine.flash(), made.time_us)
    usb = made.machine.usb()
    silent = usb["console_open"] and not made.console and fault is None
    if silent:
        made.type("\r")
        made.run(_ENTER_S)
    events = made.events
    mute = _mute(events, usb, made.time_us / 1e6)
    lines = [*events, *filter(None, (mute, erasure.told))]
    identity = image.file.identity
    if identity.family and identity.machine and board_of_machine(identity.machine) is None:
        lines.insert(0, f"the image is for a board without a definition: {identity.machine}")
    if silent:
        lines.append(f"console: nothing {'until' if made.console else 'printed, not even after'} Enter was pressed")
    printed = _named_lines("console", made.console)
    for number, uart in enumerate(uarts):
        printed += _named_lines(f"UART {number}", _text(uart.received))
    lines += printed
    frames = sum(not frame.to_board for frame in made.frames)
    if frames:
        lines.append(f"network: {frames} frames sent, address {made.address or 'unknown'}")
    driven = made.driven_pins
    pins = [pin for pin in driven if board.avr or _pin(pin)[1] < PINS]
    if pins:
        lines.append(f"pins: drives {pins_told(pins)}")
    if bare := driven[len(pins) :]:
        lines.append(f"pins: sets {pins_told(bare)} as outputs, too, which only an RP2350B has")
    loader = board.usb.bootloader
    in_loader = f" usb configured {loader.vid:04x}:{loader.pid:04x}"
    on_usb = any(" usb configured " in event and not event.endswith(in_loader) for event in events)
    # The pins of a Python image, or of one whose USB does not work, are those of a start that has not ended.
    starts_only = family.traits.has_console or mute is not None
    alive = bool(on_usb or printed or frames or (pins and not starts_only))
    if fault is not None:
        if fault not in events:
            lines.append(fault)
    elif made.in_fault:
        lines.append("core 0 stays in its fault, so no program runs")
    elif not alive and any(event.endswith(in_loader) for event in events):
        lines.append("USB: the board's boot loader answers, not the image")
    elif not alive and mute is None:
        parts = "console or network" if pins else "console, network or pin"
        slow = (
            f"; if it only starts slowly, as CircuitPython 8 does while it makes its drive, use --seconds {_SLOW_S:g}"
        )
        may_be_slow = board.avr is None and seconds < _SLOW_S
        lines.append(f"no USB, {parts} in {seconds:g} s of simulated time{slow if may_be_slow else ''}")
    return Flashed(board, Where.EMULATED, image, tuple(lines), alive and fault is None and not made.in_fault)


def _mute(events: Sequence[str], usb: Mapping[str, Any], now_s: float) -> str | None:
    """Return that the PC cannot enumerate the board, as one line; None while it still may."""
    attached_s = [float(event.split()[0]) for event in events if event.endswith(" usb attached")]
    if not usb["attached"] or usb["configured"] or not attached_s or now_s - attached_s[-1] < _ENUMERATION_S:
        return None
    mute = f"USB: attached, but not enumerated {now_s - attached_s[-1]:.1f} s later"
    return mute if usb["trouble"] else f"{mute}: the PC's request is answered with NAK"


def _text(sent: bytes) -> str:
    """Return what a UART sent as text, without the NULs that a pin's change of function brings; else its size."""
    text = sent.replace(b"\0", b"").decode(errors="replace")
    characters = sum((each.isprintable() and each != "\ufffd") or each.isspace() for each in text)
    is_text = characters >= _TEXT_SHARE * len(text) and (text or not sent)
    more = " ..." if len(sent) > _FIRST_BYTES else ""
    return text if is_text else f"{len(sent)} bytes, not text: {sent[:_FIRST_BYTES].hex(' ')}{more}"


def _named_lines(name: str, text: str) -> list[str]:
    """Return the lines that are not blank, without a terminal's sequences; CircuitPython's title is a line."""
    text = _SEQUENCE.sub("", _TITLE.sub(r"\1\n", text))
    return [f"{name}: {line}" for line in text.splitlines() if line.strip()]


def pins_told(names: Sequence[str]) -> str:
    """Write pins such as `GP0` or `PB4`, in order: three neighbours or more as `GP2 to GP5`."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _pin(name) == (_pin(runs[-1][-1])[0], _pin(runs[-1][-1])[1] + 1):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _pin(name: str) -> tuple[str, int]:
    port = name.rstrip("0123456789")
    return port, int(name.removeprefix(port))


def _attached(row: PlannedRow, where: Where, image: Image, listener: Listener) -> Flashed:
    clock = StageClock(row.entry.id, row.how.timeouts_s, lambda stage: listener.log(stage))
    assert image.file is not None
    with open_board(row, where, clock.stage(Stage.OPEN), listener) as board:
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
