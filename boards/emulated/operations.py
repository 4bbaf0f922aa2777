"""What the control channel asks of an emulated board, by the names of the requests."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from portbench._engine import EngineError
from portbench.boards.board import Unattended
from portbench.boards.emulated import network_operations as network
from portbench.boards.emulated import pair_operations as pair
from portbench.boards.emulated.attribution import attribution
from portbench.boards.emulated.control import Request
from portbench.boards.emulated.faults import Fault
from portbench.boards.emulated.hand_operations import pins, uart_read, uart_write
from portbench.boards.errors import BoardError
from portbench.complaint import first_complaint
from portbench.server.simulated_pc import part_in
from portbench.workloads import Timed, UnknownWorkload

if TYPE_CHECKING:
    from portbench.boards.emulated.process import BoardProcess

_FLUSH_US = 1_500_000.0

Operation = Callable[["BoardProcess", Request], None]


def carry_out(board: BoardProcess, request: Request) -> None:
    """Answers the request, with one line where it cannot be met."""
    operation = OPERATIONS.get(request.op)
    if operation is None:
        request.fail(f"unknown request {request.op!r}")
        return
    try:
        operation(board, request)
    except ValidationError as error:
        request.fail(f"{request.op}: {first_complaint(error)}")
    except (BoardError, EngineError, UnknownWorkload, ValueError, KeyError, TypeError, OSError) as error:
        request.fail(f"{request.op}: {error}")


def _status(board: BoardProcess, request: Request) -> None:
    """`finished`: the run has its result, and `figures` are those of that moment."""
    now_us = board.machine.time_us
    request.answer(
        time_us=now_us,
        fault=board.fault or board.stuck() or board.pc.given_up(now_us),
        finished=board.finished is not None,
        off_bus_us=board.liveness.off_bus_us(now_us),
        usb=board.machine.usb(),
        struck=board.faults.struck,
    )


def _power_cycle(board: BoardProcess, request: Request) -> None:
    """Restart at simulated time 0. `measured`: flat out, and nothing of the host's reaches the board by itself.
    `networked`: for a client that will be of no use before it has spoken to its Ethernet chip.

    `flash`: `blank` as from the factory, or as it was `kept`; else as it is.
    """
    measured = bool(request.arguments.get("measured"))
    board.config = replace(board.config, **request.arguments.get("config", {}))
    board.machine.configure(board.settings(fresh_card=measured))
    contents = {None: None, "blank": b"", "kept": board.kept_flash}
    partner = board.beside if measured else None
    board.power_up(bool(request.arguments.get("bootsel")), contents[request.arguments.get("flash")], partner)
    if measured:
        board.beside = None
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


def _keep_flash(board: BoardProcess, request: Request) -> None:
    """Remember what flash holds now, for a power cycle that goes back to it."""
    board.kept_flash = board.machine.flash()
    request.answer()


def _figures(board: BoardProcess, request: Request) -> None:
    """The figures at the end of the run (`finished`), else those of now."""
    finished = board.finished is not None
    request.answer(finished=finished, fault=board.fault, **(board.finished or board.figures()))


def _expect_run(board: BoardProcess, request: Request) -> None:
    """A run is about to begin, without a power cycle. `networked`: as for `power_cycle`. `started`: the client was
    started when it was flashed; else it will be by a reset. `over`: the run is, and none is expected."""
    over = bool(request.arguments.get("over"))
    networked, started = bool(request.arguments.get("networked")), bool(request.arguments.get("started"))
    board.expect_client(networked and not over, started=started, measures=not over)
    request.answer()


def _attribution(board: BoardProcess, request: Request) -> None:
    """Where the time of the last run went that was powered up with `attribute`."""
    timed = [Timed(**each) for each in request.arguments["timed"]]
    found = attribution(board.machine, timed, board.pc.sessions(), request.arguments["result"])
    request.answer(attribution=found)


def _serve(board: BoardProcess, request: Request) -> None:
    """`workload`, `settings`: what the simulated PC takes part in from the next connection on; `alone`: as
    `Unattended` has it, of an image that will not tell when its run is over."""
    alone = request.arguments.get("alone")
    board.alone = None if alone is None else Unattended(**alone)
    limit = None if board.alone is None else board.alone.exchanges
    board.part = part_in(request.arguments["workload"], request.arguments["settings"], limit)
    board.pc.take(board.part)
    request.answer()


def _network(board: BoardProcess, request: Request) -> None:
    """What the board is connected to: the simulated PC, or this machine's sockets."""
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
    """The clients that the simulated PC's server has had since the power cycle."""
    request.answer(sessions=board.sessions())


def _flash(board: BoardProcess, request: Request) -> None:
    """What the flash holds, base64."""
    request.answer(flash=base64.b64encode(board.machine.flash()).decode("ascii"))


def _sync(board: BoardProcess, request: Request) -> None:
    """Returns when the drive has what is in its folder and the board has had the time to bring it to flash.

    CircuitPython keeps what was written last in RAM for a second (its file system's flush interval): who cuts the
    power before that loses it, on a real board too. `drive_only`: more is to follow, do not wait for flash.
    """
    if board.usb.sync_all():
        board.simulate(0.0 if request.arguments.get("drive_only") else _FLUSH_US)
    request.answer()


def _arm(board: BoardProcess, request: Request) -> None:
    """`fault`: see `boards.emulated.faults.Fault`."""
    board.faults.arm(Fault.from_settings(request.arguments["fault"]))
    request.answer()


def _disarm(board: BoardProcess, request: Request) -> None:
    """Answers with what had struck since the last time."""
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
    """Answers with the port at which gdb finds the board: `port`, or a free one for 0."""
    server = board.gdb(request.arguments["port"])
    request.answer(port=server.port, hint=server.hint)


def _quit(board: BoardProcess, request: Request) -> None:
    board.closing = True
    request.answer()


OPERATIONS: Final[dict[str, Operation]] = {
    "status": _status,
    "power_cycle": _power_cycle,
    "keep_flash": _keep_flash,
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
    "pins": pins,
    "uart_read": uart_read,
    "uart_write": uart_write,
    "quit": _quit,
    **network.OPERATIONS,
    **pair.OPERATIONS,
}
