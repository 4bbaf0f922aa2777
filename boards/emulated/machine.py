"""The machine that the engine is to simulate for a board: its microcontroller, and what is wired to it."""

from __future__ import annotations

from typing import Any

from portbench._engine import CHIPS, MCUS, RADIOS
from portbench.boards.definition import BoardDefinition, Ethernet, Wifi
from portbench.boards.errors import BoardUnavailable


def engine_settings(definition: BoardDefinition) -> dict[str, Any]:
    """The engine's settings for the board's hardware. Raises BoardUnavailable for what the engine has not."""
    if definition.mcu not in MCUS:
        raise _not_emulated(definition, definition.mcu, MCUS)
    devices: list[dict[str, Any]] = []
    if isinstance(definition.network, Wifi):
        devices.append(wifi_settings(definition, definition.network))
    elif definition.network is not None:
        devices.append(ethernet_settings(definition, definition.network))
    return {"mcu": definition.mcu, "flash_bytes": definition.flash_bytes, "devices": devices}


def ethernet_settings(definition: BoardDefinition, ethernet: Ethernet) -> dict[str, Any]:
    """The engine's settings for the board's Ethernet chip. Raises BoardUnavailable for one that the engine has not."""
    if ethernet.chip not in CHIPS:
        raise _not_emulated(definition, ethernet.chip, CHIPS)
    return {"chip": ethernet.chip, "bus": ethernet.bus, **ethernet.pins}


def wifi_settings(definition: BoardDefinition, wifi: Wifi) -> dict[str, Any]:
    """The engine's settings for the board's radio chip. Raises BoardUnavailable for one that the engine has not."""
    if wifi.chip not in RADIOS:
        raise _not_emulated(definition, wifi.chip, RADIOS)
    return {"chip": wifi.chip, "bus": wifi.bus, **wifi.pins}


def _not_emulated(definition: BoardDefinition, has: str, there_are: tuple[str, ...]) -> BoardUnavailable:
    return BoardUnavailable(
        f"{definition.id}: has a {has}, which is not emulated (there are: {', '.join(there_are)}); use a real board"
    )
