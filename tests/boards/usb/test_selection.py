"""Which of the attached boards is meant, and that it stays the one."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import BoardUnavailable
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, EmulatedState, claimed_folder, write_state
from portbench.boards.usb import discovery
from portbench.boards.usb.board import default_bus
from portbench.boards.usb.bus import (
    EmulatedBus,
    Selector,
    Target,
    UsbDevice,
    is_emulated,
    parse_selector,
    same_board,
    select,
)
from portbench.boards.usb.discovery import attached, attached_selectors
from tests.boards.usb.conftest import DEFINITION

ONE = UsbDevice(serial_number="e66000000000000a", vid=0x2E8A, pid=5, port="/dev/ttyACM0", location="1-1")
TWO = UsbDevice(serial_number="e66000000000000b", vid=0x2E8A, pid=5, port="/dev/ttyACM1", location="1-2")
EMULATED = UsbDevice(serial_number="e66000000000000c", vid=0x2E8A, pid=5, port="/dev/pts/3", emulated=True)
MODEM = UsbDevice(serial_number="42", vid=0x1234, pid=5, port="/dev/ttyACM7", location="1-7")


class Plugged:
    def __init__(self, *devices: UsbDevice) -> None:
        self.now = list(devices)

    def devices(self) -> list[UsbDevice]:
        return list(self.now)


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("auto", Selector("auto")),
        ("id:e66a", Selector("id", "E66A")),
        ("port:/dev/ttyACM0", Selector("port", "/dev/ttyACM0")),
        ("port:COM3", Selector("port", "COM3")),
        ("/dev/ttyACM0", Selector("port", "/dev/ttyACM0")),
        ("com4", Selector("port", "com4")),
        ("usb:1-1.2", Selector("usb", "1-1.2")),
        ("rfc2217://lab:4000", Selector("url", "rfc2217://lab:4000")),
        ("socket://10.0.0.1:4000", Selector("url", "socket://10.0.0.1:4000")),
    ],
)
def test_selectors(text: str, selector: Selector) -> None:
    assert parse_selector(text) == selector


@pytest.mark.parametrize(
    "text", ["", "id:", "port:", "rfc2217://lab", "socket://:1", "http://x:1", "rfc2217://x:99999"]
)
def test_what_is_no_selector_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(BoardUnavailable, match="is not one of auto, id:SERIAL"):
        parse_selector(text)


@given(st.text())
def test_any_text_is_a_selector_or_refused(text: str) -> None:
    try:
        selector = parse_selector(text)
    except BoardUnavailable as error:
        assert "\n" not in str(error)
    else:
        assert parse_selector(str(selector)) == selector


def test_auto_does_not_choose_between_boards() -> None:
    with pytest.raises(BoardUnavailable, match=r"2 boards fit auto; choose with id:SERIAL or usb:PLACE: .*000A.*000B"):
        select([ONE, TWO], Selector("auto"), DEFINITION)


def test_a_remote_board_is_its_url() -> None:
    url = "rfc2217://lab:4000"
    bus = default_bus(parse_selector(url))
    assert select(bus.devices(), parse_selector(url), DEFINITION) == UsbDevice(port=url, location=url)


def test_boards_of_this_pc_come_before_emulated_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery.SystemBus, "devices", lambda self: [ONE])
    monkeypatch.setattr(EmulatedBus, "devices", lambda self: [EMULATED])
    assert default_bus(parse_selector("auto")).devices() == [ONE, EMULATED]


def test_running_emulated_boards_are_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = EmulatedState("desk", 77, "W5500_EVB_PICO", 3, 0x2E8A, 5, "e66a", "M", "P", "/dev/pts/9", "/v", "LABEL")
    with claimed_folder("desk") as folder, claimed_folder("off") as off:
        write_state(folder, state)
        write_state(off, replace(state, name="off", usb_vid=None, serial_number=None, port=None))
        volume, place = Path("/v"), f"emulated:{folder}"
        found = UsbDevice("e66a", 0x2E8A, 5, "M", "P", "/dev/pts/9", volume, "LABEL", None, place, "3", True, 77)
        assert EmulatedBus().devices() == EmulatedBus(folder).devices() == [found] and EmulatedBus(off).devices() == []
        names = ("usb:desk", f"usb:{place}", "usb:off", "id:e66a", "port:/dev/pts/9")
        assert all(is_emulated(name, DEFINITION) for name in names)
        assert not any(is_emulated(name, DEFINITION) for name in ("auto", "usb:other", "id:E66B", "nonsense"))
        monkeypatch.setattr(discovery, "SystemBus", lambda: Plugged(MODEM, TWO))
        assert attached_selectors() == ["id:E66000000000000B", "usb:desk"] and attached(DEFINITION) == [TWO]
        write_state(folder, replace(state, port=None))
        assert attached_selectors() == ["id:E66000000000000B", "usb:desk"]
        write_state(folder, replace(state, port=None, volume=None))
        assert attached_selectors() == ["id:E66000000000000B"]
    assert EmulatedBus().devices() == [] and not is_emulated("usb:desk", DEFINITION)
    (tmp_path / "file").touch()
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path / "file"))
    assert EmulatedBus().devices() == [] and not is_emulated("usb:desk", DEFINITION)


def target(bus: Plugged) -> Target:
    return Target(bus, lambda devices: select(devices, Selector("id", "E66000000000000A"), DEFINITION))


def test_a_board_is_followed_through_its_boot_loader_to_another_port() -> None:
    bus = Plugged(ONE, TWO)
    one = target(bus)
    assert one.find() == ONE
    bus.now = [TWO]
    assert one.find() is None
    boot = UsbDevice(serial_number="E0C9125B0D9B", vid=0x2E8A, pid=3, volume=Path("/v"), location="1-1")
    bus.now = [TWO, boot]
    assert one.find() == boot
    back = replace(ONE, port="/dev/ttyACM5", pid=0x1029, serial_number="E66000000000000A")
    bus.now = [back, TWO]
    assert one.find() == back


def test_without_places_a_boot_loader_that_was_there_before_is_not_ours() -> None:
    boot = UsbDevice(vid=0x2E8A, pid=3, volume=Path("/v"))
    bus = Plugged(replace(ONE, location=None), boot)
    one = target(bus)
    assert one.find() is not None
    bus.now = [boot]
    assert one.find() is None
    ours = replace(boot, volume=Path("/w"))
    bus.now = [boot, ours]
    assert one.find() == ours
    bus.now = [replace(TWO, location=None)]
    assert one.find() is None  # its serial number is still known
    bus.now.append(replace(ONE, location=None, port="/dev/ttyACM9"))
    assert one.find() == bus.now[1]


def test_the_boot_loaders_serial_number_identifies_nobody() -> None:
    boot = UsbDevice(serial_number="e0c9125b0d9b")
    assert boot.own_serial is None
    assert not same_board(ONE, TWO) and not same_board(ONE, replace(ONE, emulated=True))
    assert same_board(replace(ONE, location=None), replace(ONE, serial_number="E66000000000000A", port="COM9"))


def test_the_port_of_a_board_that_enumerates_is_waited_for_while_the_board_is_there() -> None:
    new = UsbDevice(location="emulated:/a", emulated=True)
    other, there = replace(new, location="emulated:/b", port="b"), replace(new, port="a")
    for looks, found in (([[]], new), ([[new], [other, new], [other, there]], there)):
        bus = Mock(devices=Mock(side_effect=looks))
        assert discovery._settled(new, bus) == found and bus.devices.call_count == len(looks)
    assert discovery._settled(other, Mock(devices=None)) is other
