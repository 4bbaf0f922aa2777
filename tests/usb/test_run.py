"""Measured runs, and consoles brought back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import pytest

from portbench.boards import (
    BoardUnavailable,
    ConsoleLost,
    Deadline,
    DeadlineExceeded,
    Deployment,
    board_definition,
)
from portbench.boards.console import Console
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.discovery import listing
from portbench.boards.usb.run import read_result, recover
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from tests.usb.conftest import DEFINITION, MICROPYTHON, link_to, small_image
from tests.usb.fake_board import FakeBoard

Boards = Callable[..., FakeBoard]
Show = Callable[[str], None]
LINE = "PORTBENCH " + json.dumps({"messages": 2, "total_us": 10}) + "\r\n"
SCRIPT = Deployment({"main.py": b"pass\n"}, "micropython")


def usb_board(board: FakeBoard) -> UsbBoard:
    return UsbBoard(DEFINITION, bus=board, poll_s=0.01, name="fake board")


def test_a_run_restarts_the_board_and_reads_its_result(boards: Boards, deadline: Deadline) -> None:
    def client(show: Show) -> None:
        show("hello\r\n" + LINE[:20])
        show(LINE[20:])

    fake = boards(on_boot=client)
    printed: list[str] = []
    with usb_board(fake) as board:
        board.deploy(SCRIPT, deadline)
        for number in (1, 2):
            output = board.run(deadline, printed.append)
            assert output.result == {"messages": 2, "total_us": 10}
            assert output.console[0] == "hello" and output.sim is None
            assert fake.boots == number
        assert "hello" in board.console_tail()
    assert printed.count("hello") == 2


def test_a_result_that_was_missed_is_asked_for(boards: Boards, deadline: Deadline) -> None:
    fake = boards(on_boot=lambda show: fake._globals.update(RESULT={"messages": 2}))
    with usb_board(fake) as board:
        board.deploy(SCRIPT, deadline)
        assert board.run(deadline).result == {"messages": 2}


def test_a_script_that_ends_without_a_result_is_a_lost_console(boards: Boards, deadline: Deadline) -> None:
    fake = boards(on_boot=lambda show: show("MemoryError: no luck\r\n"))
    with usb_board(fake) as board:
        board.deploy(SCRIPT, deadline)
        with pytest.raises(
            ConsoleLost, match=r"ended without a result line; last it printed: \['MemoryError: no luck'\]"
        ):
            board.run(deadline)


def test_a_silent_finished_board_answers_to_enter(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.boards.usb.run._SILENT_S", 0.05)
    fake = boards()
    deadline = Deadline(10, "test")
    repl = link_to(fake).open_repl(deadline)
    with pytest.raises(ConsoleLost, match="ended without a result line"):
        read_result(repl, Console(), deadline, nudge=True)
    repl.close()


def test_a_run_that_never_ends_ends_at_the_deadline(boards: Boards) -> None:
    repl = link_to(boards()).open_repl(Deadline(20, "test"))
    deadline = Deadline(0.3, "row 1")
    with pytest.raises(DeadlineExceeded, match=r"row 1: still waiting for the client's result line after 0.3 s"):
        read_result(repl, Console(), deadline, nudge=False)
    repl.close()


def test_nothing_deployed_runs_nothing(boards: Boards, deadline: Deadline) -> None:
    with usb_board(boards()) as board, pytest.raises(BoardError, match="nothing was deployed to run"):
        board.run(deadline)


def test_flash_console_identify(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    fake = boards(runtime="circuitpython")
    with usb_board(fake) as board:
        board.flash(Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
        board.wait_console(deadline)
        assert board.identify(deadline).family == "micropython"
        board.reset(deadline)
        assert fake.boots == 3  # into the boot loader, out of it, and the reset


def test_only_one_at_a_time_has_a_board(boards: Boards) -> None:
    fake = boards()
    with usb_board(fake), pytest.raises(BoardUnavailable, match="in use by another portbench"):
        usb_board(fake)
    usb_board(fake).close()


def test_a_bad_selector_is_one_line() -> None:
    with pytest.raises(BoardUnavailable, match="device 'usb0' is not one of auto, id:SERIAL"):
        UsbBoard(DEFINITION, device="usb0")


def test_the_ladder_logs_each_step(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_INTERRUPT_S", "_SOFT_S"):
        monkeypatch.setattr(f"portbench.boards.usb.run.{name}", 0.3)
    fake = boards(deaf_to=1_000_000)
    log: list[str] = []

    class Hand:
        def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
            fake.deaf_to = 0
            fake._restart(False)

    helped = recover(link_to(fake, log, power=Hand()), None, Deadline(20, "test"))
    assert helped == "hard reset"
    assert [line.split(":")[1].strip() for line in log] == ["interrupt", "soft reset", "hard reset"]
    assert log[-1] == "recovery: hard reset: the console answers"


def test_the_ladders_end_names_what_was_tried(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_INTERRUPT_S", "_SOFT_S", "_HARD_S"):
        monkeypatch.setattr(f"portbench.boards.usb.run.{name}", 0.1)
    with pytest.raises(DeadlineExceeded, match="does not answer; tried: interrupt, soft reset, hard reset"):
        recover(link_to(boards(deaf_to=1_000_000)), None, Deadline(20, "test"))


def test_a_board_that_another_program_has_is_not_reset(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    def used(*_: object) -> None:
        raise BoardUnavailable("in use by minicom")

    log: list[str] = []
    monkeypatch.setattr("portbench.boards.usb.run.answers", used)
    with pytest.raises(BoardUnavailable, match="in use by minicom"):
        recover(link_to(boards(), log), None, Deadline(20, "test"))
    assert log == []


def test_the_listing_tells_runtime_and_state(boards: Boards) -> None:
    (found,) = listing(boards())
    assert (found.state, found.runtime, found.version) == ("console", "micropython", "1.26.0")
    assert found.selector == "id:E6605838833A552C" and "2e8a:0005" in found.cells()


def test_the_listing_reads_circuitpythons_drive_without_interrupting(boards: Boards) -> None:
    fake = boards(runtime="circuitpython")
    (found,) = listing(fake)
    assert (found.state, found.version, found.board_id) == ("console", "9.1.4", "wiznet_w5500_evb_pico")
    assert fake.typed == b""


def test_the_listing_of_a_boot_loader(boards: Boards) -> None:
    (found,) = listing(boards(runtime=None))
    assert (found.state, found.version, found.board_id) == ("bootloader", "2.0", "RPI-RP2")


@pytest.mark.parametrize(("comes", "advice"), [(True, ""), (False, "its drive is not mounted")])
def test_the_listing_waits_for_the_drive_of_an_emulated_boot_loader(
    comes: bool, advice: str, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.boards.usb.discovery._SETTLES_S", 60 if comes else 0.1)
    (whole,) = (replace(device, emulated=True) for device in boards(runtime=None).devices())
    without = [replace(whole, volume=None)]
    looks = chain([without, without], repeat([whole] if comes else without))
    (found,) = listing(SimpleNamespace(devices=lambda: next(looks)))
    assert (found.state, found.device.volume, found.advice) == ("bootloader", whole.volume if comes else None, advice)


def test_the_listing_of_a_board_in_use_and_of_a_silent_one(boards: Boards, deadline: Deadline) -> None:
    fake = boards()
    repl = link_to(fake).open_repl(deadline)
    (found,) = listing(fake)
    assert found.state == "busy" and "in use by another program" in found.advice
    repl.close()
    (found,) = listing(boards(deaf_to=1_000_000), ask_s=0.2)
    assert found.state == "silent" and "still waiting for" in found.advice


def test_another_kind_of_board_with_the_same_usb_id_is_not_taken_for_ours(
    boards: Boards, deadline: Deadline, tmp_path: Path
) -> None:
    image = small_image(tmp_path, MICROPYTHON)
    fake = boards(machine="Raspberry Pi Pico with RP2040")
    with (
        usb_board(fake) as board,
        pytest.raises(
            BoardUnavailable, match=r"is a Raspberry Pi Pico .*, not a W5500-EVB-Pico; .*--device id:E6605838833A552C"
        ),
    ):
        board.flash(Uf2File.read(image), deadline)
    assert fake.flashed is None
    with UsbBoard(DEFINITION, device="id:E6605838833A552C", bus=fake, poll_s=0.01) as board:
        board.flash(Uf2File.read(image), deadline)
    assert fake.flashed == image.read_bytes()


def test_a_pico_2_is_not_taken_for_a_pico(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    """Its name begins with the Pico's."""
    image = Uf2File.read(small_image(tmp_path, MICROPYTHON))
    fake = boards(machine="Raspberry Pi Pico2 with RP2350")
    with (
        UsbBoard(board_definition("RPI_PICO"), bus=fake, poll_s=0.01) as board,
        pytest.raises(BoardUnavailable, match=r"is a Raspberry Pi Pico2 with RP2350, not a Raspberry Pi Pico; "),
    ):
        board.flash(image, deadline)
    assert fake.flashed is None
