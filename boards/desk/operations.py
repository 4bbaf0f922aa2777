"""Requests of the control channel to an emulated board, by their names."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from portbench.boards.board import Unattended
from portbench.boards.desk.control import Request
from portbench.boards.desk.faults import Fault
from portbench.boards.desk.forwards import parse_rule
from portbench.boards.emulated.simulation import FLUSH_US
from portbench.boards.pins import PINS, pin_number, pin_volts
from portbench.errors import first_complaint
from portbench.server.simulated_pc import part_in

if TYPE_CHECKING:
    from portbench.boards.desk.process import BoardProcess

Operation = Callable[["BoardProcess", Request], None]


def carry_out(board: BoardProcess, request: Request) -> None:
    """Answer the request, with one line where that cannot be done."""
    operation = OPERATIONS.get(request.op)
    if operation is None:
        request.fail(f"unknown request {request.op!r}")
        return
    try:
        operation(board, request)
    except ValidationError as error:
        request.fail(f"{request.op}: {first_complaint(error)}")
    except Exception as error:  # no request ends the board
        request.fail(f"{request.op}: {error}")


def _status(board: BoardProcess, request: Request) -> None:
    """Answer how the board is."""
    now_us = board.machine.time_us
    request.answer(
        time_us=now_us,
        fault=board.stuck() or board.pc.given_up(now_us),
        off_bus_us=board.liveness.off_bus_us(now_us),
        usb=board.usb.state,
        struck=board.faults.struck,
    )


def _power_cycle(board: BoardProcess, request: Request) -> None:
    """Restart at simulated time 0. `quiet`: run flat out, and mount no drive, until the expected run is over."""
    quiet = bool(request.arguments.get("quiet"))
    board.machine.configure(board.settings(fresh_card=quiet))
    board.power_up(bool(request.arguments.get("bootsel")), quiet=quiet)
    request.answer()


def _expect_run(board: BoardProcess, request: Request) -> None:
    """Expect a run. `networked`: the client has to speak to its network chip before it can do anything else.
    `started`: the client was started when it was flashed; else a reset will start it. `over`: the run is over, and no
    other is expected."""
    over = bool(request.arguments.get("over"))
    networked, started = bool(request.arguments.get("networked")), bool(request.arguments.get("started"))
    board.expect_client(networked and not over, started=started, measures=not over)
    request.answer()


def _serve(board: BoardProcess, request: Request) -> None:
    """From the next connection on the simulated PC takes part in `workload` with `settings`. `alone`: as `Unattended`
    has it, for an image that does not report the end of its run."""
    alone = request.arguments.get("alone")
    board.client.alone = None if alone is None else Unattended(**alone)
    limit = None if board.client.alone is None else board.client.alone.exchanges
    board.part = part_in(request.arguments["workload"], request.arguments["settings"], limit)
    board.pc.take(board.part)
    request.answer()


def _network(board: BoardProcess, request: Request) -> None:
    """Answer which network the board is on: that of the simulated PC, or this machine's sockets."""
    config = board.config
    request.answer(
        bridged=bool(config.bridge),
        pc_ip=str(config.pc_ip),
        server_port=config.server_port,
        turnaround_us=config.turnaround_us,
        ssid=config.access_point.ssid,
        passphrase=config.access_point.passphrase,
        power_switch=config.power_switch,
    )


def _sessions(board: BoardProcess, request: Request) -> None:
    """Answer the sessions with the simulated PC since the power cycle."""
    request.answer(sessions=board.sessions())


def _sync(board: BoardProcess, request: Request) -> None:
    """Bring the folder's files to the drive, and give the board the time to bring them to flash."""
    if board.usb.sync_all():
        board.simulate(FLUSH_US)
    request.answer()


def _arm(board: BoardProcess, request: Request) -> None:
    """Arm `fault`, see `boards.desk.faults.Fault`."""
    board.faults.arm(Fault.from_settings(request.arguments["fault"]))
    request.answer()


def _disarm(board: BoardProcess, request: Request) -> None:
    """Disarm all faults, and answer which have struck since the last time."""
    struck = list(board.faults.struck)
    board.faults.disarm()
    board.usb.disarm()
    request.answer(struck=struck)


def _gdb(board: BoardProcess, request: Request) -> None:
    """Answer the port at which gdb finds the board: `port`, or a free one for 0."""
    server = board.gdb(request.arguments["port"])
    request.answer(port=server.port, hint=server.hint)


def _pins(board: BoardProcess, request: Request) -> None:
    """Hold pins, and lay or remove wires, which a power cycle does not change. `hold`: volts by pin, None to let go;
    `wire` and `unwire`: pairs of pins. Answers the state then: masks `levels` and `driven`, `held` in volts, `wires`.
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
    held = {pin: volts for pin in range(PINS) if (volts := machine.voltage(pin)) is not None}
    request.answer(levels=levels, driven=driven, held=held, wires=machine.wires(), time_us=machine.time_us)


def _uart_write(board: BoardProcess, request: Request) -> None:
    """Send `data`, base64, to `uart`. Answers how many bytes were taken."""
    data = base64.b64decode(request.arguments["data"], validate=True)
    request.answer(taken=board.machine.uart_write(request.arguments["uart"], data))


def _uart_read(board: BoardProcess, request: Request) -> None:
    """Answer what `uart` has sent since the last time, base64, and when the last of it came."""
    if board.uart_ports is not None:
        raise ValueError("the board's UARTs are on terminals; read those")
    uart = request.arguments["uart"]
    data = board.machine.uart_read(uart)
    request.answer(data=base64.b64encode(data).decode("ascii"), time_us=board.machine.uart_time_us(uart))


def _volts(value: object) -> float | None:
    return None if value is None else pin_volts(value)


def _pairs(request: Request, key: str) -> list[tuple[int, int]]:
    return [(pin_number(a), pin_number(b)) for a, b in request.arguments.get(key, [])]


def _forward(board: BoardProcess, request: Request) -> None:
    """Follow `rule` from now on, see `boards.desk.forwards`. Answers the port that was chosen."""
    request.answer(**board.forwards.add(parse_rule(request.arguments["rule"])))


def _end_forward(board: BoardProcess, request: Request) -> None:
    """Close `host_port` of `protocol`."""
    board.forwards.remove(request.arguments["host_port"], request.arguments["protocol"])
    request.answer()


def _forwards(board: BoardProcess, request: Request) -> None:
    """Answer all rules, and what they have carried."""
    request.answer(forwards=board.forwards.facts())


OPERATIONS: Final[dict[str, Operation]] = {
    "status": _status,
    "power_cycle": _power_cycle,
    "expect_run": _expect_run,
    "serve": _serve,
    "network": _network,
    "sessions": _sessions,
    "sync": _sync,
    "arm": _arm,
    "disarm": _disarm,
    "gdb": _gdb,
    "pins": _pins,
    "uart_read": _uart_read,
    "uart_write": _uart_write,
    "forward": _forward,
    "end_forward": _end_forward,
    "forwards": _forwards,
}
