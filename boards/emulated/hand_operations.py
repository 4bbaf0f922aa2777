"""What the control channel asks of a board's pins and UARTs, see `boards.emulated.operations`."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from portbench.boards.emulated.control import Request
from portbench.boards.pins import pin_number, pin_volts

if TYPE_CHECKING:
    from portbench.boards.emulated.process import BoardProcess

_PINS: Final = 30


def pins(board: BoardProcess, request: Request) -> None:
    """`hold`: volts, or None for nobody, by pin; `wire` and `unwire`: pairs of pins. All of it stays at a power cycle.

    Answers with what is at the pins then: `levels` and `driven` as masks, `held` in volts, `wires`.
    """
    hold = {pin_number(pin): _volts(volts) for pin, volts in request.arguments.get("hold", {}).items()}
    wire, unwire = _pairs(request, "wire"), _pairs(request, "unwire")
    machine = board.machine
    there = {frozenset(pair) for pair in machine.wires()}
    for a, b in unwire:
        if frozenset((a, b)) not in there:
            raise ValueError(f"no wire joins GP{a} and GP{b}")
    for a, b in wire:
        machine.wire(a, b)
    for a, b in unwire:
        machine.unwire(a, b)
    for pin, volts in hold.items():
        machine.set_voltage(pin, volts)
    kept = {**board.config.pins, **hold}
    board.config = replace(
        board.config,
        pins={pin: volts for pin, volts in kept.items() if volts is not None},
        wires=tuple(machine.wires()),
    )
    levels, driven = machine.pins()
    held = {pin: volts for pin in range(_PINS) if (volts := machine.voltage(pin)) is not None}
    request.answer(levels=levels, driven=driven, held=held, wires=machine.wires(), time_us=machine.time_us)


def uart_write(board: BoardProcess, request: Request) -> None:
    """`uart`, and `data` as base64. Answers how many bytes were taken."""
    data = base64.b64decode(request.arguments["data"], validate=True)
    request.answer(taken=board.machine.uart_write(request.arguments["uart"], data))


def uart_read(board: BoardProcess, request: Request) -> None:
    """What `uart` has sent since the last time, base64, and when the last of it came."""
    if board.uart_ports is not None:
        raise ValueError("the board's UARTs are on terminals; read those")
    uart = request.arguments["uart"]
    data = board.machine.uart_read(uart)
    request.answer(data=base64.b64encode(data).decode("ascii"), time_us=board.machine.uart_time_us(uart))


def _volts(value: object) -> float | None:
    return None if value is None else pin_volts(value)


def _pairs(request: Request, key: str) -> list[tuple[int, int]]:
    return [(pin_number(a), pin_number(b)) for a, b in request.arguments.get(key, [])]
