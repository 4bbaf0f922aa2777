"""The drives' own descriptions, and their limits."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.usb.volume import VolumeInfo, parse_boot_out, parse_info_uf2, read_volume_info
from tests.boards.usb.fake_board import BOOT_OUT, INFO_UF2


def test_the_boot_loaders_file() -> None:
    assert parse_info_uf2(INFO_UF2) == VolumeInfo("bootloader", "RPI-RP2", "2.0")


def test_circuitpythons_file() -> None:
    info = parse_boot_out(BOOT_OUT)
    assert info == VolumeInfo(
        "circuitpython", "wiznet_w5500_evb_pico", "9.1.4", "W5500-EVB-Pico with rp2040", "E6605838833A552C"
    )


def test_circuitpython_before_uids() -> None:
    text = "Adafruit CircuitPython 7.0.0 on 2021-09-20; Raspberry Pi Pico with rp2040\r\nBoard ID:raspberry_pi_pico\r\n"
    assert parse_boot_out(text) == VolumeInfo(
        "circuitpython", "raspberry_pi_pico", "7.0.0", "Raspberry Pi Pico with rp2040"
    )


@pytest.mark.parametrize("name", ["INFO_UF2.TXT", "boot_out.txt"])
def test_a_file_of_that_name_with_anything_else_in_it_is_no_board(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe holiday pictures" * 1000)
    assert read_volume_info(tmp_path) is None


def test_no_more_of_a_file_is_read_than_a_board_writes(tmp_path: Path) -> None:
    (tmp_path / "INFO_UF2.TXT").write_text("x" * 4096 + "\n" + INFO_UF2)
    assert read_volume_info(tmp_path) is None


def test_no_file_is_no_board(tmp_path: Path) -> None:
    assert read_volume_info(tmp_path) is None
    assert read_volume_info(tmp_path / "gone") is None
    (tmp_path / "boot_out.txt").mkdir()  # it cannot be read
    assert read_volume_info(tmp_path) is None


@given(st.text() | st.builds(lambda a, b: a + "Board-ID:" + b + "\nBoard ID:" + b, st.text(), st.text()))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for info in (parse_info_uf2(text), parse_boot_out(text)):
        assert info is None or (info.board_id and not any(c.isspace() for c in info.board_id))
