"""What the control channel asks of an emulated board, by the names of the requests."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portbench_engine import EngineError
from pydantic import ValidationError

from portbench.boards.board import Unattended
from portbench.boards.definition import board_definition
from portbench.boards.emulated.attribution import attribution
from portbench.boards.emulated.config import CONFIG
from portbench.boards.emulated.control import Request
from portbench.boards.emulated.faults import Fault
from portbench.boards.emulated.network import parse_rule
from portbench.boards.emulated.partner import Partner, partner_config
from portbench.boards.pins import pin_number, pin_volts
from portbench.errors import PortbenchError, first_complaint
from portbench.server.simulated_pc import part_in
from portbench.workloads import Timed

if TYPE_CHECKING:
    from portbench.boards.emulated.process import BoardProcess

_FLUSH_US: Final = 1_500_000.0
_PINS: Final = 30

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
    except (PortbenchError, EngineError, ValueError, KeyError, TypeError, OSError) as error:
        request.fail(f"{request.op}: {error}")


def _status(board: BoardProcess, request: Request) -> None:
    """Answer how the board is. `finished`: the run has its result, and `figures` are those of that moment."""
    now_us = board.machine.time_us
    request.answer(
        time_us=now_us,
        fault=board.fault or board.stuck() or board.pc.given_up(now_us),
        finished=board.finished is not None,
        off_bus_us=board.liveness.off_bus_us(now_us),
        usb=board.usb.state,
        struck=board.faults.struck,
    )


def _power_cycle(board: BoardProcess, request: Request) -> None:
    """Restart at simulated time 0. `measured`: run flat out, without anything that the host does by itself.
    `networked`: the client has to speak to its Ethernet chip before it can do anything else.

    `flash`: `blank` as from the factory, or a file with its contents; else as it is.
    """
    measured = bool(request.arguments.get("measured"))
    board.config = replace(board.config, **request.arguments.get("config", {}))
    board.machine.configure(board.settings(fresh_card=measured))
    flash = request.arguments.get("flash")
    contents = b"" if flash == "blank" else None if flash is None else Path(flash).read_bytes()
    partner = board.next_partner if measured else None
    board.power_up(bool(request.arguments.get("bootsel")), contents, partner)
    if measured:
        board.next_partner = None
    board.usb.automount = not measured
    networked = measured and bool(request.arguments.get("networked"))
    board.expect_client(networked, started=True, measures=measured)
    board.pacer.flat_out = measured and not board.config.bridge
    if request.arguments.get("attribute"):
        board.machine.attribution_start()
    if request.arguments.get("trace"):
        board.machine.trace_start(**request.arguments["trace"])
    board.publish()
    request.answer()


def _figures(board: BoardProcess, request: Request) -> None:
    """The figures at the end of the run (`finished`), else those of now."""
    finished = board.finished is not None
    request.answer(finished=finished, fault=board.fault, **(board.finished or board.figures()))


def _expect_run(board: BoardProcess, request: Request) -> None:
    """Expect a run without a power cycle. `networked`: as for `power_cycle`. `started`: the client was started when it
    was flashed; else a reset will start it. `over`: the run is over, and no other is expected."""
    over = bool(request.arguments.get("over"))
    networked, started = bool(request.arguments.get("networked")), bool(request.arguments.get("started"))
    board.expect_client(networked and not over, started=started, measures=not over)
    request.answer()


def _attribution(board: BoardProcess, request: Request) -> None:
    """Answer where the time of the last run went that was powered up with `attribute`."""
    timed = [Timed(**each) for each in request.arguments["timed"]]
    found = attribution(board.machine, timed, board.pc.sessions(), request.arguments["result"], board.definition.mcu)
    request.answer(attribution=found)


def _serve(board: BoardProcess, request: Request) -> None:
    """From the next connection on the simulated PC takes part in `workload` with `settings`. `alone`: as `Unattended`
    has it, for an image that does not tell when its run is over."""
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
    )


def _sessions(board: BoardProcess, request: Request) -> None:
    """Answer the sessions with the simulated PC since the power cycle."""
    request.answer(sessions=board.sessions())


def _flash(board: BoardProcess, request: Request) -> None:
    """Answer the contents of the flash, base64."""
    request.answer(flash=base64.b64encode(board.machine.flash()).decode("ascii"))


def _sync(board: BoardProcess, request: Request) -> None:
    """Bring the folder's files to the drive, and give the board the time to bring them to flash.

    CircuitPython keeps its last writes in RAM for a second (its file system's flush interval). A power failure
    before that loses it, on a real board too. `drive_only`: more is to follow, do not wait for flash.
    """
    if board.usb.sync_all():
        board.simulate(0.0 if request.arguments.get("drive_only") else _FLUSH_US)
    request.answer()


def _arm(board: BoardProcess, request: Request) -> None:
    """Arm `fault`, see `boards.emulated.faults.Fault`."""
    board.faults.arm(Fault.from_settings(request.arguments["fault"]))
    request.answer()


def _disarm(board: BoardProcess, request: Request) -> None:
    """Disarm all faults, and answer which have struck since the last time."""
    struck = list(board.faults.struck)
    board.faults.disarm()
    board.usb.disarm()
    request.answer(struck=struck)


def _cable(board: BoardProcess, request: Request) -> None:
    board.machine.set_cable(bool(request.arguments["plugged"]))
    request.answer()


def _faults(board: BoardProcess, request: Request) -> None:
    board.machine.set_lan_faults(request.arguments["faults"])
    request.answer()


def _trace(board: BoardProcess, request: Request) -> None:
    records, dropped = board.machine.trace_take()
    request.answer(records=records, dropped=dropped)


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
    held = {pin: volts for pin in range(_PINS) if (volts := machine.voltage(pin)) is not None}
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
    """Follow `rule` from now on, see `boards.emulated.network`. Answers the port that was chosen."""
    request.answer(**board.forwards.add(parse_rule(request.arguments["rule"])))


def _end_forward(board: BoardProcess, request: Request) -> None:
    """Close `host_port` of `protocol`."""
    board.forwards.remove(request.arguments["host_port"], request.arguments["protocol"])
    request.answer()


def _forwards(board: BoardProcess, request: Request) -> None:
    """Answer all rules, and what they have carried."""
    request.answer(forwards=board.forwards.facts())


def _ping(board: BoardProcess, request: Request) -> None:
    """Ping the board, see `boards.emulated.network.Pings.send`."""
    given = request.arguments
    request.answer(**board.pings.send(board.machine, given.get("address"), given["size"], given.get("at_us", 0.0)))


def _pings(board: BoardProcess, request: Request) -> None:
    """Answer which pings of these `numbers` have been answered so far."""
    request.answer(**board.pings.take(board.machine, request.arguments["numbers"]))


def _add_partner(board: BoardProcess, request: Request) -> None:
    """Run a second board with `board`, `config` and `flash`, a file, until it listens. This board joins its switch in
    the next measured run. Answers where the second one listens."""
    config = partner_config(CONFIG.validate_json(request.arguments["config"]), board.config)
    flash = Path(request.arguments["flash"]).read_bytes()
    partner = Partner(board_definition(request.arguments["board"]), config, flash, board.note)
    listening = partner.listen()
    board.next_partner = partner
    request.answer(address=str(listening.address), port=listening.port)


def _partner(board: BoardProcess, request: Request) -> None:
    """Answer the state of the second board; `over`: its part in the run is over."""
    partner = board.partner
    if partner is None:
        raise ValueError("this board has no partner")
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
        raise ValueError("this board has no partner")
    board.partner.machine.set_cable(bool(request.arguments["plugged"]))
    request.answer()


def _quit(board: BoardProcess, request: Request) -> None:
    board.closing = True
    request.answer()


OPERATIONS: Final[dict[str, Operation]] = {
    "status": _status,
    "power_cycle": _power_cycle,
    "figures": _figures,
    "expect_run": _expect_run,
    "attribution": _attribution,
    "serve": _serve,
    "network": _network,
    "sessions": _sessions,
    "flash": _flash,
    "sync": _sync,
    "arm": _arm,
    "disarm": _disarm,
    "cable": _cable,
    "faults": _faults,
    "trace": _trace,
    "gdb": _gdb,
    "pins": _pins,
    "uart_read": _uart_read,
    "uart_write": _uart_write,
    "forward": _forward,
    "end_forward": _end_forward,
    "forwards": _forwards,
    "ping": _ping,
    "pings": _pings,
    "add_partner": _add_partner,
    "partner": _partner,
    "partner_cable": _partner_cable,
    "quit": _quit,
}
