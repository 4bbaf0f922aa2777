"""The engine's settings as it takes them today: one W5500, by flat keys."""

from __future__ import annotations

from typing import Any, Final

MCUS: Final = ("RP2040",)
CHIPS: Final = ("W5500",)


def flat(settings: dict[str, Any]) -> dict[str, Any]:
    """`boards.emulated.machine.engine_settings` for that engine."""
    flat_settings: dict[str, Any] = {"flash_bytes": settings["flash_bytes"]}
    for device in settings["devices"]:
        flat_settings["spi"] = int(device["bus"].removeprefix("spi"))
        flat_settings |= {key: pin for key, pin in device.items() if key.endswith("_pin")}
    return flat_settings
