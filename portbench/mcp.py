"""The MCP server, for agents: `portbench-mcp` or `python -m portbench.mcp`, on standard input and output.

Each tool calls the functions of the verb of its name, and stores runs in `results` of the folder that it starts in.
"""

import functools
import sys
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from typing import Any, Final, Literal

import anyio

from portbench.errors import BoardError, LibraryMissing, PortbenchError

try:
    with LibraryMissing.unless_installed("mcp", "portbench-mcp"):
        from mcp.server.mcpserver import Context, MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
except LibraryMissing as error:
    sys.exit(f"portbench: {error}")

from portbench.boards import Deadline, board_definition
from portbench.boards.desk.started import StartedDesk
from portbench.boards.kinds import SILENT
from portbench.boards.registry import read_state, runtime_dir
from portbench.boards.usb.discovery import listing
from portbench.boards.usb.port import SerialWire, open_port
from portbench.engine import needs_engine
from portbench.results import compare_table
from portbench.results.storage import RESULTS_FOLDER
from portbench.runner import advice
from portbench.runner.cli.comparing import compared_sides
from portbench.runner.cli.desk import ANSWER_S, change_pins, desk_settings
from portbench.runner.cli.verbs.desk.pins import table as pins_table
from portbench.runner.cli.verbs.explain import Source
from portbench.runner.cli.verbs.list.boards import described
from portbench.runner.explain.report import Explained
from portbench.runner.flashing import flash as flash_image
from portbench.runner.inventory import inventory
from portbench.runner.jobs.run import Run, planned
from portbench.runner.options import DEFAULT_BOARD, WhereChoice, read_options

Facts = dict[str, Any]

_LOOK_S: Final = 0.05
SERVER: Final = MCPServer(
    "portbench",
    instructions="Choose, flash, measure and test Python firmware of RP2040 and RP2350 boards, real or emulated here."
    " Firmware is a runtime's id, a .uf2 file, or a release as micropython@latest. An emulated board that stays: start"
    " it with `desk`, flash it with device usb:desk, type at its console.",
    version=version("portbench"),
    log_level="WARNING",
)
_DESKS: Final[dict[str, StartedDesk]] = {}


def _tool(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a tool. It refuses with the line that the verb prints."""

    @functools.wraps(function)
    def refusing(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except (PortbenchError, OSError) as error:
            raise ToolError(str(error)) from None

    SERVER.add_tool(refusing, name=function.__name__.rstrip("_"))
    return refusing


@_tool
def advise(board: str = DEFAULT_BOARD) -> Facts:
    """Say which firmware to flash on a kind of board, how fast each is there, and give a first program."""
    return advice.as_data(advice.advise(board))


@_tool
def list_(what: Literal["runtimes", "workloads", "boards", "attached"]) -> list[Facts]:
    """List runtimes with their images, workloads with their settings, kinds of boards, or the boards attached now."""
    return [described(board) for board in listing(ask=False)] if what == "attached" else inventory()[what]


@_tool
def flash(runtime: str, board: str | None = None, device: str = "auto", seconds: float = 5.0) -> Facts:
    """Flash firmware and say what answers: the desk at device usb:desk, or with auto a board on USB.

    Without one an emulated board boots it for so many simulated seconds.
    """
    return flash_image(read_options({"runtime": runtime, "board": board, "device": device}), seconds, SILENT).as_data()


@_tool
def run(
    context: Context,
    runtimes: list[str] | None = None,
    workload: str = "ping_pong",
    board: str | None = None,
    where: WhereChoice = "emulated",
    device: str = "auto",
    runs: int = 3,
    settings: list[str] | None = None,
) -> Facts:
    """Measure firmware (default: the newest of each family) and store the run; settings are as spi_hz=8M."""
    asked: Facts = {"runtime": runtimes, "workload": workload, "board": board, "where": where, "device": device}
    rows, options = planned(asked | {"runs": runs, "setting": settings})
    with Run(rows, options) as measuring:
        for number, (row, measured) in enumerate(measuring.measured(), 1):
            anyio.from_thread.run(context.report_progress, number, len(rows), f"{row.label}: {measured.status}")
    shown = {"runtime", "version", "profile", "workload", "board", "where", "status", "reason", "headline"}
    found = [row.model_dump(mode="json", include=shown) | {"value": row.value} for row in measuring.run.rows]
    return {"rows": found, "faults": measuring.faults}


@_tool
def explain(row: str, workload: str = "ping_pong", board: str | None = None, what_if: bool = False) -> Facts:
    """Say why a row, as micropython-1.28.0/tuned, takes so long; with `what_if` also the gain of single changes."""
    source = Source(None, RESULTS_FOLDER, {"workload": workload, "board": board}, run_again=True)
    found = source.row(row, None, ())
    changes = list(source.measured[row].what_if(found)) if what_if else []
    return Explained(found, measured=True, what_if=changes).as_json()


@_tool
def compare(
    before: str, after: str, workload: str = "ping_pong", board: str | None = None, runs: int = 3
) -> list[Facts]:
    """Compare two stored runs, or two firmware that are measured now."""
    asked = {"workload": workload, "board": board, "runs": runs, "where": "emulated", "results_dir": RESULTS_FOLDER}
    return compare_table.as_data(compared_sides((before, after), asked)[1], None)


@_tool
def desk(board: str = "RPI_PICO", name: str = "desk") -> Facts:
    """Start an emulated board that stays until this server ends."""
    needs_engine()
    if read_state(runtime_dir() / name) is not None:
        raise BoardError(f"{name}: runs already; choose another name")
    settings = desk_settings("{}", (), (), wall_clock=True)
    _DESKS[name] = StartedDesk(board_definition(board).id, settings, name, ["--links"])
    _DESKS[name].wait()
    return {"device": f"usb:{name}"}


@_tool
def desk_console(name: str = "desk", text: str = "", until: str | None = None, seconds: float = 5.0) -> Facts:
    """Type at a desk's console (Enter is \\r, Ctrl-C is U+0003); return what it prints, up to `until` or the time."""
    if (state := read_state(runtime_dir() / name.removeprefix("usb:"))) is None or state.port is None:
        raise BoardError(f"{name}: has no console; flash an image that has one, or list the attached boards")
    port = open_port(state.port, name, Deadline(ANSWER_S, name), provider_pid=state.pid, keep_input=True)
    printed, end_s = b"", time.monotonic() + seconds
    with closing(SerialWire(port, name)) as wire:
        wire.until(Deadline(ANSWER_S, name), "the typed text to be taken")
        wire.write(text.encode())
        while not (found := until is not None and until.encode() in printed) and time.monotonic() < end_s:
            printed += wire.read_some(_LOOK_S)
    return {"printed": printed.decode(errors="replace"), "found": found}


@_tool
def desk_pins(name: str = "desk", changes: list[str] | None = None, cut: list[str] | None = None) -> Facts:
    """Change a desk's pins by GP15=low, GP26=1.65, GP15=open or a wire GP0:GP1, cut wires, and show the pins in use."""
    now = change_pins(name, changes or (), cut or ())
    return now | {"pins": pins_table(now)}


if __name__ == "__main__":
    SERVER.run()
