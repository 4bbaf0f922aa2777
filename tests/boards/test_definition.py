"""Board definitions: the built-in data, and one clear line for each fault of a file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import BadDefinition, UnknownBoard, board_definition, builtin_definitions, load_definitions
from portbench.boards.definition import DEFINITIONS, UsbId


def test_the_two_boards_are_known() -> None:
    w5500, w5100s = builtin_definitions().values()
    assert (w5500.id, w5100s.id) == ("W5500_EVB_PICO", "W5100S_EVB_PICO")
    assert w5500.usb.circuitpython == UsbId(0x2E8A, 0x1029) and str(w5100s.usb.circuitpython) == "2e8a:1027"
    assert w5500.usb.bootloader == UsbId(0x2E8A, 0x0003) and w5500.usb.micropython == UsbId(0x2E8A, 0x0005)
    assert (w5500.volumes.bootloader, w5500.volumes.circuitpython) == ("RPI-RP2", "CIRCUITPY")
    assert w5500.flash_bytes == 2 << 20 and w5500.uf2_family == 0xE48BFF56
    assert (w5500.spi.sck_pin, w5500.spi.mosi_pin, w5500.spi.miso_pin) == (18, 19, 16)
    assert (w5500.spi.csn_pin, w5500.spi.rstn_pin, w5500.spi.intn_pin) == (17, 20, 21)


@pytest.mark.parametrize("name", ["W5500_EVB_PICO", "w5500_evb_pico", "wiznet_w5500_evb_pico", "w5500-evb-pico"])
def test_a_board_has_several_names(name: str) -> None:
    assert board_definition(name).id == "W5500_EVB_PICO"


def test_an_unknown_board_lists_the_known_ones() -> None:
    with pytest.raises(UnknownBoard, match=r"^unknown board 'pico': there are W5500_EVB_PICO, W5100S_EVB_PICO$"):
        board_definition("pico")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("sck_pin = 18", "sck_pin = 30", "[W5500_EVB_PICO.spi] sck_pin = 30 is not a whole number from 0 to 29"),
        ("sck_pin = 18", "sck_pin = true", "[W5500_EVB_PICO.spi] sck_pin = True is not a whole number from 0 to 29"),
        ("sck_pin = 18", "", "[W5500_EVB_PICO.spi] has no sck_pin (a whole number from 0 to 29)"),
        ('"2e8a:0005"', '"2e8a"', "[W5500_EVB_PICO.usb] micropython = '2e8a' is not a USB id such as \"2e8a:0005\""),
        ('mcu = "RP2040"', 'mcu = ""', "[W5500_EVB_PICO] mcu = '' is not a text with anything in it"),
        ("aliases = [", "aliases = [1, ", "is not a list of texts"),
        ("[W5500_EVB_PICO.volumes]", "[W5500_EVB_PICO.volume]", "[W5500_EVB_PICO] has no volumes (a table)"),
        ("title =", "title", "not TOML"),
        ("# Boards as data.", "stray = 1\n#", "[stray] is 1, not a table"),
    ],
)
def test_a_fault_is_one_line_with_file_and_place(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "boards.toml"
    text = DEFINITIONS.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadDefinition) as caught:
        load_definitions(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and says in message and "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r"nowhere\.toml: cannot be read: No such file"):
        load_definitions(tmp_path / "nowhere.toml")


@given(data=st.data())
def test_any_one_value_replaced_loads_or_is_a_bad_definition(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = DEFINITIONS.read_text().splitlines()
    number = data.draw(st.sampled_from([i for i, line in enumerate(lines) if " = " in line]))
    value = data.draw(
        st.sampled_from(["1", "-1", "9e99", '""', '"x"', "[]", "{}", "[[]]", "true", "1979-05-27", "nan", ""])
    )
    lines[number] = lines[number].split(" = ")[0] + " = " + value
    path = tmp_path_factory.mktemp("boards") / "boards.toml"
    path.write_text("\n".join(lines))
    try:
        definitions = load_definitions(path)
    except BadDefinition as error:
        assert "\n" not in str(error)
    else:
        assert set(definitions) == set(tomllib.loads(path.read_text()))
