"""The settings of a board that stays on the desk, as the command line gives them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from portbench.boards import BoardError
from portbench.boards.emulated.config import CONFIG
from portbench.boards.emulated.sd_card import SdCard
from portbench.boards.pins import parse_pin, parse_wire
from portbench.complaint import first_complaint


def desk_settings(
    config: str, pins: tuple[str, ...], wires: tuple[str, ...], *, wall_clock: bool, sd_card: Path | None = None
) -> str:
    """As JSON. `config`: JSON that `pins`, `wires` and the image of an SD card come on top of. Raises BoardError."""
    try:
        settings = CONFIG.validate_json(config)
    except ValidationError as error:
        raise BoardError(f"--config: {first_complaint(error)}") from None
    try:
        held = {pin: volts for pin, volts in map(parse_pin, pins) if volts is not None}
        laid = tuple(map(parse_wire, wires))
    except ValueError as error:
        raise BoardError(f"--{'pin' if 'wire' not in str(error) else 'wire'}: {error}") from None
    settings = replace(
        settings,
        pins={**settings.pins, **held},
        wires=(*settings.wires, *laid),
        wall_clock=wall_clock,
        uart_ports=True,
        sd_card=settings.sd_card
        if sd_card is None
        else replace(settings.sd_card or SdCard(), image=sd_card.absolute()),
    )
    return CONFIG.dump_json(settings).decode()
