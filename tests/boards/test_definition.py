"""Board definitions: the built-in data, users' own files, and one clear line for each fault of a file."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import board_definition, board_of_machine, known_boards, load_board
from portbench.boards.definition import BOARDS_VARIABLE, DEFINITIONS, Psram, UsbId, refusal
from portbench.errors import PortbenchError, UnknownName
from portbench.firmware import uf2, uf2_families
from portbench.firmware.uf2 import Uf2Error

EVB = DEFINITIONS / "W5500_EVB_PICO.toml"
PICO = DEFINITIONS / "RPI_PICO.toml"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has no boards yet; the folder for them."""
    monkeypatch.delenv(BOARDS_VARIABLE, raising=False)
    monkeypatch.setattr("portbench.toml_files.user_config_path", lambda name: tmp_path / "config" / name)
    return tmp_path / "config" / "portbench" / "boards"


def own_board(folder: Path, name: str = "MY_PICO", **changes: str) -> Path:
    """A board of a user's own: a Raspberry Pi Pico by another name, with some of the file's text changed."""
    text = PICO.read_text().replace('["raspberry_pi_pico", "pico", "rpi-pico"]', "[]")
    for old, new in changes.items():
        text = text.replace(old, new)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_the_boards_are_known() -> None:
    boards = known_boards()
    assert sorted(boards) == [
        *("ARDUINO_MEGA2560", "GOLDILOCKS_1284P_W5100", "GOLDILOCKS_1284P_W5200"),
        *("RPI_PICO", "RPI_PICO2", "RPI_PICO2_W", "RPI_PICO_W"),
        *("W5100S_EVB_PICO", "W5100S_EVB_PICO2", "W5500_EVB_PICO", "W5500_EVB_PICO2"),
    ]
    w5500, w5100s = boards["W5500_EVB_PICO"], boards["W5100S_EVB_PICO"]
    assert w5500.usb.circuitpython == UsbId(0x2E8A, 0x1029) and str(w5100s.usb.circuitpython) == "2e8a:1027"
    assert w5500.usb.bootloader == UsbId(0x2E8A, 0x0003) and w5500.usb.micropython == UsbId(0x2E8A, 0x0005)
    assert (w5500.volumes.bootloader, w5500.volumes.circuitpython) == ("RPI-RP2", "CIRCUITPY")
    assert w5500.flash_bytes == 2 << 20 and w5500.uf2_family == 0xE48BFF56
    assert w5500.network is not None and w5100s.network is not None
    assert asdict(w5500.network) == {
        **{"kind": "ethernet", "chip": "W5500", "bus": "spi0", "default_hz": 20_000_000},
        **{"sck_pin": 18, "mosi_pin": 19, "miso_pin": 16, "csn_pin": 17, "rstn_pin": 20, "intn_pin": 21},
        **{"io2_pin": None, "io3_pin": None},
    }
    assert w5500.network.spi_id == 0 and w5100s.network.chip == "W5100S"


@pytest.mark.parametrize("board", ["RPI_PICO", "RPI_PICO_W", "W5100S_EVB_PICO", "W5500_EVB_PICO"])
def test_a_board_with_an_rp2350_has_the_parts_of_the_one_before(board: str) -> None:
    before, after = known_boards()[board], known_boards()[board.replace("PICO", "PICO2")]
    assert (after.mcu, after.uf2_family) == ("RP2350", 0xE48BFF59)
    assert (after.network, after.sd_card, after.pins) == (before.network, before.sd_card, before.pins)
    assert (str(after.usb.bootloader), after.usb.micropython) == ("2e8a:000f", before.usb.micropython)
    assert after.volumes.bootloader == "RP2350" and after.usb.circuitpython != before.usb.circuitpython


def test_a_board_is_found_by_what_either_runtime_calls_it() -> None:
    for machine, board in (
        ("Raspberry Pi Pico with RP2040", "RPI_PICO"),
        ("Raspberry Pi Pico2 with RP2350", "RPI_PICO2"),
        ("Raspberry Pi Pico 2 with rp2350a", "RPI_PICO2"),
        ("Raspberry Pi Pico 2 W with rp2350a", "RPI_PICO2_W"),
    ):
        found = board_of_machine(machine)
        assert found is not None and found.id == board


def test_an_image_for_another_chip_is_refused_with_its_boards() -> None:
    with pytest.raises(Uf2Error) as caught:
        uf2.parse(uf2.build(b"x", family_id=uf2_families.RP2350), "x.uf2", family_id=uf2_families.RP2040)
    assert refusal(caught.value) == (
        "x.uf2: block 0: is for RP2350 (Arm secure) (family 0xE48BFF59), not RP2040; choose the image made for this"
        " board (this one is for RPI_PICO2, RPI_PICO2_W, W5100S_EVB_PICO2, W5500_EVB_PICO2)"
    )


def test_the_pico_has_no_network() -> None:
    pico = known_boards()["RPI_PICO"]
    assert pico.network is None and pico.usb.circuitpython == UsbId(0x239A, 0x80F4)


@pytest.mark.parametrize("name", ["W5500_EVB_PICO", "w5500_evb_pico", "wiznet_w5500_evb_pico", "w5500-evb-pico"])
def test_a_board_has_several_names(name: str) -> None:
    assert board_definition(name).id == "W5500_EVB_PICO"


def test_an_unknown_board_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownName,
        match=r"^unknown board 'esp32'; choose one of ARDUINO_MEGA2560, GOLDILOCKS_1284P_W5100, GOLDILOCKS_1284P_W5200,"
        r" RPI_PICO, RPI_PICO2, RPI_PICO2_W, RPI_PICO_W, W5100S_EVB_PICO, W5100S_EVB_PICO2, W5500_EVB_PICO,"
        r" W5500_EVB_PICO2$",
    ):
        board_definition("esp32")


def test_an_unknown_board_names_those_like_it() -> None:
    with pytest.raises(
        UnknownName, match=r"^unknown board 'pico2w'; did you mean RPI_PICO2_W, RPI_PICO2 or RPI_PICO_W\?$"
    ):
        board_definition("pico2w")


def test_users_boards_come_from_files_folders_and_the_configuration(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_board(home, "AT_HOME")
    own_board(tmp_path / "folder", "IN_FOLDER")
    named = own_board(tmp_path, "NAMED")
    own_board(tmp_path, "NOT_NAMED")
    monkeypatch.setenv(BOARDS_VARIABLE, os.pathsep.join([str(named), str(tmp_path / "folder"), str(home)]))
    assert list(known_boards())[11:] == ["NAMED", "IN_FOLDER", "AT_HOME"]
    assert board_definition("in_folder").title == "Raspberry Pi Pico"


def test_a_users_board_may_not_take_a_name_that_is_used(home: Path) -> None:
    mine = own_board(home, "mine", **{"aliases = []": 'aliases = ["w5500-evb-PICO"]'})
    with pytest.raises(PortbenchError) as caught:
        known_boards()
    assert str(caught.value) == f"{mine}: the name 'w5500-evb-pico' is taken by {EVB}; use another"
    mine.unlink()
    own_board(home, "rpi_pico")
    with pytest.raises(PortbenchError, match=r"rpi_pico\.toml: the name 'rpi_pico' is taken by .*RPI_PICO\.toml"):
        known_boards()


def test_a_users_file_that_is_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = own_board(tmp_path, mcu="mpu")
    monkeypatch.setenv(BOARDS_VARIABLE, str(mine))
    with pytest.raises(PortbenchError) as caught:
        board_definition("W5500_EVB_PICO")
    assert str(caught.value) == f"{mine}: mcu is absent; add it (and 1 more)"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("sck_pin = 18", "sck_pin = 30", "network.sck_pin is 30; input should be less than or equal to 29"),
        ("sck_pin = 18", "sck_pin = true", "network.sck_pin is True; input should be a valid integer"),
        ("sck_pin = 18", "", "network.sck_pin is absent; add it"),
        ("sck_pin = 18", "sck_pin = 17", "network: sck_pin and csn_pin are both 17; give each wire its own pin"),
        ("sck_pin = 18", "sck_pin = 18\nsda_pin = 1", "network.sda_pin is 1; the key is unknown, remove it"),
        ('"ethernet"', '"token-ring"', "network.kind is 'token-ring'; input should be 'ethernet' or 'wifi'"),
        ('kind = "ethernet"', "", "network.kind is absent; input should be 'ethernet' or 'wifi'"),
        ('"spi0"', '"spi2"', "network.bus is 'spi2'; input should be 'spi0', 'spi1' or 'pio'"),
        ('"2e8a:0005"', '"2e8a"', "usb.micropython: '2e8a' is not a USB id; write one such as \"2e8a:0005\""),
        ('"2e8a:0005"', "5", "usb.micropython: 5 is not a USB id"),
        ('mcu = "RP2040"', 'mcu = ""', "mcu is ''; string should have at least 1 character"),
        ("aliases = [", "aliases = [1, ", "aliases[1] is 1; input should be a valid string"),
        ("[volumes]", "[volume]", "volumes is absent; add it"),
        ("title =", "title", "is not TOML"),
        ("title =", 'id = "X"\ntitle =', "id is 'X'; remove it, the file's name is the board's id"),
    ],
)
def test_a_fault_is_one_line_with_file_and_place(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "MINE.toml"
    text = EVB.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(PortbenchError) as caught:
        load_board(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and says in message and "\n" not in message


def test_a_files_name_has_to_be_fit_for_an_id(tmp_path: Path) -> None:
    path = own_board(tmp_path, "my pico")
    with pytest.raises(PortbenchError, match=r"my pico\.toml: id is 'my pico'; string should match pattern"):
        load_board(path)


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BOARDS_VARIABLE, str(tmp_path / "nowhere.toml"))
    with pytest.raises(PortbenchError, match=r"nowhere\.toml: cannot be read \(No such file or directory\)"):
        known_boards()


@given(data=st.data())
def test_any_one_value_replaced_loads_or_is_a_bad_definition(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = EVB.read_text().splitlines()
    number = data.draw(st.sampled_from([i for i, line in enumerate(lines) if " = " in line]))
    value = data.draw(
        st.sampled_from(["1", "-1", "9e99", '""', '"x"', "[]", "{}", "[[]]", "true", "1979-05-27", "nan", ""])
    )
    lines[number] = lines[number].split(" = ")[0] + " = " + value
    path = tmp_path_factory.mktemp("boards") / "MINE.toml"
    path.write_text("\n".join(lines))
    try:
        definition = load_board(path)
    except PortbenchError as error:
        assert "\n" not in str(error)
    else:
        assert definition.id == "MINE"


def test_the_sockets_of_sd_cards_are_known() -> None:
    for board in known_boards().values():
        if board.avr is not None:
            continue
        assert board.sd_card is not None and board.sd_card.spi_id == 1
        assert board.sd_card.pins == {"sck_pin": 10, "mosi_pin": 11, "miso_pin": 12, "csn_pin": 13}


@pytest.mark.parametrize(
    ("pins", "said"),
    [
        ({"sck_pin = 10": "sck_pin = 11"}, "sck_pin and mosi_pin are both 11; give each wire its own pin"),
        ({"csn_pin = 13": "csn_pin = 17"}, "sd_card.csn_pin is 17, which the network has"),
        ({"sck_pin = 10": "sck_pin = 18"}, "sd_card.sck_pin is 18, which the network has"),
        ({'bus = "spi1"': 'bus = "spi2"'}, "sd_card.bus"),
    ],
)
def test_sockets_with_wrong_wires_are_refused(home: Path, pins: dict[str, str], said: str) -> None:
    path = own_board(home, **pins)
    if "network" in said:
        path.write_text(path.read_text() + "\n" + _table(EVB, "network"))
    with pytest.raises(PortbenchError, match=said):
        load_board(path)


def test_a_card_may_share_the_networks_bus(home: Path) -> None:
    path = own_board(
        home,
        **{'"spi1"\nsck_pin = 10\nmosi_pin = 11\nmiso_pin = 12': '"spi0"\nsck_pin = 18\nmosi_pin = 19\nmiso_pin = 16'},
    )
    path.write_text(path.read_text() + "\n" + _table(EVB, "network"))
    assert load_board(path).sd_card is not None


def test_a_psram_is_a_chip_and_a_pin(home: Path) -> None:
    path = own_board(home)
    path.write_text(path.read_text() + '\n[psram]\nchip = "APS6404L"\ncsn_pin = 19\n')
    assert load_board(path).psram == Psram("APS6404L", 19)
    path.write_text(path.read_text().replace("APS6404L", "LY68L6400"))
    with pytest.raises(PortbenchError, match=r"psram\.chip"):
        load_board(path)


def _table(path: Path, name: str) -> str:
    """One table of a board's file."""
    return f"[{name}]" + path.read_text().split(f"[{name}]")[1].split("\n[")[0]
