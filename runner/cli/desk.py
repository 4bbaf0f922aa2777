"""A running emulated board on the desk: its controls, its settings, and its forward rules as text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from portbench.boards import BoardError, Deadline
from portbench.boards.desk.control import ControlClient
from portbench.boards.pins import parse_pin, parse_wire
from portbench.boards.registry import runtime_dir
from portbench.errors import PortbenchError, first_complaint

_Read = TypeVar("_Read")
ANSWER_S: Final = 10.0
"""Time limit for an answer of the board's process."""


@contextmanager
def controls(board: str) -> Iterator[ControlClient]:
    """The control channel of `board`, written NAME or `usb:NAME`. Raises BoardError."""
    name = board.removeprefix("usb:")
    client = ControlClient(runtime_dir() / name, name)
    try:
        yield client
    finally:
        client.close()


def change_pins(board: str, changes: Sequence[str] = (), cut: Sequence[str] = ()) -> dict[str, Any]:
    """Change pins by `GP15=low`, add wires by `GP0:GP1`, `cut` some, and return the pins. Raises PortbenchError."""
    try:
        hold = dict(parse_pin(change) for change in changes if ":" not in change)
        wire, unwire = [parse_wire(change) for change in changes if ":" in change], list(map(parse_wire, cut))
    except ValueError as error:
        raise PortbenchError(str(error)) from None
    with controls(board) as control:
        return control.call("pins", Deadline(ANSWER_S, board), hold=hold, wire=wire, unwire=unwire)


def described(rule: Mapping[str, Any]) -> str:
    """A forward rule of a running board, with its actual port."""
    host = f"[{rule['host']}]" if ":" in rule["host"] else rule["host"]
    address = f"{rule['address']}:" if rule["address"] else ""
    return f"{rule['protocol']} {host}:{rule['host_port']} leads to {address}{rule['port']} of the board"


def desk_settings(
    config: str, pins: tuple[str, ...], wires: tuple[str, ...], *, wall_clock: bool, sd_card: Path | None = None
) -> str:
    """The settings as JSON: `config`, changed by the other arguments. Raises BoardError."""
    from portbench.boards.desk.config import CONFIG
    from portbench.boards.emulated.sd_card import SdCard

    try:
        settings = CONFIG.validate_json(config)
    except ValidationError as error:
        raise BoardError(f"--config: {first_complaint(error)}") from None
    held = {**settings.pins, **dict(_each("--pin", parse_pin, pins))}
    card = settings.sd_card if sd_card is None else replace(settings.sd_card or SdCard(), image=sd_card.absolute())
    settings = replace(
        settings,
        pins={pin: volts for pin, volts in held.items() if volts is not None},
        wires=(*settings.wires, *_each("--wire", parse_wire, wires)),
        wall_clock=wall_clock,
        uart_ports=True,
        sd_card=card,
    )
    return CONFIG.dump_json(settings).decode()


def _each(option: str, read: Callable[[str], _Read], texts: Iterable[str]) -> list[_Read]:
    try:
        return list(map(read, texts))
    except ValueError as error:
        raise BoardError(f"{option}: {error}") from None
