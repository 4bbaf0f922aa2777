"""Voltages and wires at a board's pins, as a user writes them: `GP15=low`, `GP26=1.65`, `GP0:GP1`."""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BeforeValidator

HIGH_V: Final = 3.3
"""The voltage of `high`, and the ADC's reference."""
_MOST_V: Final = 3.8
"""The most that a pin survives (RP2040 datasheet 5.5.3.1)."""
PINS: Final = 30
"""GPIOs on the packages of an RP2040 and an RP2350A."""
_LEVELS: Final = {"low": 0.0, "high": HIGH_V}


def pin_number(name: object) -> int:
    """Read `GP15`, `GPIO15` or 15. Raises ValueError."""
    match = re.fullmatch(r"(?:GP(?:IO)?)?(\d{1,2})", str(name), re.IGNORECASE | re.ASCII)
    if match is None or int(match[1]) >= PINS:
        raise ValueError(f"{name!r} is not a pin; use GP0 to GP{PINS - 1}")
    return int(match[1])


def avr_pin_number(name: str) -> int | None:
    """The engine's number of an ATmega's pin, PA0 to PC7; None: no such name."""
    match = re.fullmatch(r"P([A-C])([0-7])", name)
    return None if match is None else 8 * (ord(match[1]) - ord("A")) + int(match[2])


def avr_pin_name(number: int) -> str:
    """The name of the ATmega's pin that has this number in the engine."""
    return f"P{chr(ord('A') + number // 8)}{number % 8}"


def pin_volts(value: object) -> float:
    """Read `low`, `high` or a voltage, with or without its unit. Raises ValueError."""
    if isinstance(value, str):
        known = _LEVELS.get(value.lower())
        if known is not None:
            return known
        number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+) ?V?", value, re.IGNORECASE | re.ASCII)
        volts = float(number[1]) if number else -1.0
    else:
        volts = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else -1.0
    if not 0.0 <= volts <= _MOST_V:
        raise ValueError(f"{value!r} is not a level of a pin; use low, high or 0 to {_MOST_V} volts")
    return volts


def parse_pin(text: str) -> tuple[int, float | None]:
    """Read `GP15=low`, `GP26=1.65`, or `GP15=open`, which lets go of the pin (None). Raises ValueError."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} does not set a pin; write GP15=low, GP15=high, GP26=1.65 or GP15=open")
    return pin_number(name), None if value.lower() == "open" else pin_volts(value)


def parse_wire(text: str) -> tuple[int, int]:
    """Read `GP0:GP1`. Raises ValueError."""
    first, colon, second = text.partition(":")
    if not colon:
        raise ValueError(f"{text!r} is not a wire; write GP0:GP1")
    return _two_pins((first, second))


def show_volts(volts: float) -> str:
    """Write a voltage as a user does."""
    return next((word for word, level in _LEVELS.items() if level == volts), f"{volts:g}")


def _held(value: object) -> dict[int, float]:
    if not isinstance(value, Mapping):
        raise ValueError(f'{value!r} is not a list of pins; write such as {{"GP15": "low"}}')
    return {pin_number(name): pin_volts(volts) for name, volts in value.items()}


def _two_pins(value: object) -> tuple[int, int]:
    if isinstance(value, str):
        return parse_wire(value)
    pins = [pin_number(pin) for pin in value] if isinstance(value, (list, tuple)) else []
    if len(pins) != 2 or pins[0] == pins[1]:
        raise ValueError(f"{value!r} is not a wire; name two pins")
    return pins[0], pins[1]


HeldPins = Annotated[dict[int, float], BeforeValidator(_held)]
"""Volts by GPIO number."""
Wire = Annotated[tuple[int, int], BeforeValidator(_two_pins)]
"""Two GPIO numbers."""
