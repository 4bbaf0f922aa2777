"""Pictures of boards: the Pico's header, with the wires of each definition on it."""

from dataclasses import replace

import pytest

from portbench.boards import board_definition, definition, known_boards
from portbench.results.page.pinout import board_part
from portbench.results.publish import html
from portbench.runner.board_pictures import board_pictures
from tests.results.rows import row, run_of


def test_the_pins_of_every_board_are_taken_as_its_file_says() -> None:
    boards = [board for board in known_boards().values() if board.avr is None]
    pictures = board_pictures(known_boards())
    assert [picture.title for picture in pictures] == [board.title for board in boards]
    for picture, board in zip(pictures, boards, strict=True):
        parts = [part for part in (board.network, board.sd_card) if part is not None]
        wired = {f"GP{pin}" for part in parts for pin in part.pins.values()} | {f"GP{pin}" for pin in board.pins}
        shown = {pin.name for pin in picture.wired} | {line.split()[0] for line in picture.inside}
        assert shown == wired, board.id
        numbers = [pin.number for pin in (*picture.left, *picture.right)]
        assert numbers == [*range(1, 21), *range(40, 20, -1)]


def test_a_w5500_evb_pico_from_above() -> None:
    (picture,) = board_pictures([None, "W5500_EVB_PICO", "NONE", "W5500_EVB_PICO"])
    found = {pin.number: (pin.name, pin.wired, pin.by_hand) for pin in picture.wired}
    assert found[24] == ("GP18", "W5500 SCK", False) and found[27] == ("GP21", "W5500 INTN", False)
    assert found[14] == ("GP10", "SD card SCK", True) and len(found) == 10
    assert picture.inside == ("GP24 held at 3.3 V", "GP29 held at 1.57 V")
    assert picture.chips == ("RP2040", "W5500")


def test_the_page_says_what_is_drawn() -> None:
    page = html(run_of(row(2000)), pictures=board_pictures(["RPI_PICO_W"]))
    assert "Raspberry Pi Pico W: 0 pins of its header are taken." in page
    assert "Not on the header: GP23 CYW43439 ON, GP24 CYW43439 DATA, GP25 CYW43439 CSN, GP29 CYW43439 CLOCK." in page
    assert "<title>pin 14, GP10: SD card SCK</title>" in page


def test_a_board_with_another_header_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(board_definition("RPI_PICO"), id="MINE", header=None)
    monkeypatch.setattr(definition, "_load", lambda paths: {"MINE": other})
    assert board_pictures(["MINE"]) == [] and board_part([]) is None
