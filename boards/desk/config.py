"""Settings of a desk: those of the emulated board, and its ways to this machine."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, StrictBool, StrictStr, TypeAdapter
from pydantic.dataclasses import dataclass

from portbench.boards.definition import BoardDefinition
from portbench.boards.desk.faults import Fault
from portbench.boards.desk.forwards import parse_rule
from portbench.boards.emulated.config import EmulatedConfig


def _rule(text: str) -> str:
    return str(parse_rule(text))


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class DeskConfig(EmulatedConfig):
    """`bridge`: guest address:port to host address:port, relays connections to real sockets of this machine instead of
    the simulated PC (simulated time then follows the host's clock). `forward`: ports of this machine that lead to the
    board. `board_faults`: armed from the start, see `boards.desk.faults`. `wall_clock`: simulated time is never ahead
    of the host's, however busy the board is. `uart_ports`: its UARTs are pseudo-terminals of this machine.
    `power_switch`: programs that measure on the board switch its power; else they restart it by its own command, as a
    board on a USB cable.
    """

    bridge: tuple[tuple[StrictStr, StrictStr], ...] = ()
    forward: tuple[Annotated[StrictStr, AfterValidator(_rule)], ...] = ()
    board_faults: tuple[Fault, ...] = ()
    wall_clock: StrictBool = False
    uart_ports: StrictBool = False
    power_switch: StrictBool = True

    def settings(self, definition: BoardDefinition) -> dict[str, Any]:
        return {**super().settings(definition), "bridge": list(self.bridge)}


CONFIG: Final = TypeAdapter(DeskConfig)
"""Reads a configuration from JSON and writes it as such."""
