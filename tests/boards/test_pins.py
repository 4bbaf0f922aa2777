"""Pins, levels and wires as people write them."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from portbench.boards.emulated.config import CONFIG, EmulatedConfig
from portbench.boards.pins import parse_pin, parse_wire, pin_number, pin_volts, show_volts


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("GP15=low", (15, 0.0)),
        ("gp15=HIGH", (15, 3.3)),
        ("GPIO26=1.65", (26, 1.65)),
        ("26=.5V", (26, 0.5)),
        ("GP0=open", (0, None)),
    ],
)
def test_a_pin_and_what_it_is_held_at(text: str, held: tuple[int, float | None]) -> None:
    assert parse_pin(text) == held


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("GP15", "'GP15' does not set a pin; write GP15=low, GP15=high, GP26=1.65 or GP15=open"),
        ("GP30=low", "'GP30' is not a pin; use GP0 to GP29"),
        ("LED=low", "'LED' is not a pin; use GP0 to GP29"),
        ("GP1=on", "'on' is not a level of a pin; use low, high or 0 to 3.8 volts"),
        ("GP1=5", "'5' is not a level of a pin; use low, high or 0 to 3.8 volts"),
        ("GP1=nan", "'nan' is not a level of a pin; use low, high or 0 to 3.8 volts"),
    ],
)
def test_what_is_no_pin_is_one_line(text: str, line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        parse_pin(text)


@pytest.mark.parametrize(
    ("text", "says"), [("GP0", "is not a wire"), ("GP0:GP0", "name two pins"), ("GP0:X", "is not a pin")]
)
def test_what_is_no_wire_is_one_line(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_wire(text)


def test_settings_take_the_words_and_give_numbers() -> None:
    config = CONFIG.validate_json('{"pins": {"GP15": "low", "GP26": 1.65}, "wires": ["GP0:GP1", ["GP2", 3]]}')
    assert (config.pins, config.wires) == ({15: 0.0, 26: 1.65}, ((0, 1), (2, 3)))


@pytest.mark.parametrize(
    "setting", ['{"pins": {"GP31": "low"}}', '{"pins": ["GP1"]}', '{"wires": ["GP0"]}', '{"wires": [7]}']
)
def test_settings_refuse_what_is_no_pin(setting: str) -> None:
    with pytest.raises(ValidationError):
        CONFIG.validate_json(setting)


VOLTS = st.integers(0, 3800).map(lambda mv: mv / 1000)
PINS = st.integers(0, 29)


@given(st.dictionaries(PINS, VOLTS), st.lists(st.tuples(PINS, PINS).filter(lambda wire: wire[0] != wire[1])))
def test_settings_come_back_as_they_were(pins: dict[int, float], wires: list[tuple[int, int]]) -> None:
    config = EmulatedConfig(pins=pins, wires=tuple(wires))
    assert CONFIG.validate_json(CONFIG.dump_json(config)) == config


@given(PINS, VOLTS)
def test_what_is_shown_can_be_typed(pin: int, volts: float) -> None:
    assert parse_pin(f"GP{pin}={show_volts(volts)}") == (pin, volts)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.lists(st.text())))
def test_anything_else_is_refused_or_a_pin(value: Any) -> None:
    for parse in (pin_number, pin_volts):
        try:
            assert 0 <= parse(value) < 30
        except ValueError as error:
            assert str(error).count("\n") <= repr(value).count("\n")
