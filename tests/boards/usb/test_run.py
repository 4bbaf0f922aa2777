"""Measured runs, and consoles brought back."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from portbench.boards import (
    BoardUnavailable,
    Deadline,
    DeadlineExceeded,
    Deployment,
    board_definition,
)
from portbench.boards.board import RunOutput
from portbench.boards.console import Console
from portbench.boards.usb import discovery
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.discovery import HEADING, AttachedBoard, listing
from portbench.boards.usb.link import Link, lock_dir, lock_path
from portbench.boards.usb.port import open_port
from portbench.boards.usb.run import read_result, restart, run
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from portbench.where import Where
from tests.boards.usb.conftest import DEFINITION, MICROPYTHON, link_to, small_image
from tests.boards.usb.fake_board import FakeBoard

Boards = Callable[..., FakeBoard]
Show = Callable[[str], None]
LINE = "PORTBENCH " + json.dumps({"messages": 2, "total_us": 10}) + "\r\n"
SCRIPT = Deployment({"main.py": b"pass\n"}, "micropython")


def usb_board(board: FakeBoard, **more: Any) -> UsbBoard:
    return UsbBoard(DEFINITION, bus=board, poll_s=0.01, name="fake board", **more)


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


def test_a_board_whose_power_is_at_hand_runs_by_it(boards: Boards) -> None:
    """All comes before its port is open, and no other enumeration is waited for."""
    fake, deadline = boards(), Deadline(20, "test")
    cycles, console = list[dict[str, bool]](), Console()

    class Hand:
        def cycle(self, deadline: Deadline, **how: bool) -> None:
            cycles.append(how)
            fake._print(b"PORTBENCH-x\r\n" + LINE.encode())

    link = link_to(fake, power=Hand())  # type: ignore[arg-type]
    run(link, console, deadline)
    restart(link, deadline)
    assert console.result == {"messages": 2, "total_us": 10} and cycles == [{"measured": True}, {}]
    assert fake.typed.count(b"\x03") == 0


def test_a_run_that_never_ends_ends_at_the_deadline(boards: Boards) -> None:
    repl = link_to(boards()).open_repl(Deadline(20, "test"))
    deadline = Deadline(0.3, "row 1")
    with pytest.raises(DeadlineExceeded, match=r"row 1: still waiting for the client's result line after 0.3 s"):
        read_result(repl, Console(), deadline, nudge=False)
    repl.close()


def test_flash_console_identify(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    fake, log = boards(runtime="circuitpython"), list[str]()
    with usb_board(fake, log=log.append, save_files_to=tmp_path / "saved") as board:
        for _ in range(2):  # the user's files are saved once
            board.flash(Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
        assert log == ["files: none to save", *["boot loader: by REPL", f"flash: image.uf2 to {fake.volume}"] * 2]
        board.wait_console(deadline)
        assert board.identify(deadline).family == "micropython"
        board.reset(deadline)
        assert fake.boots == 5  # into the boot loader and out of it, twice, and the reset
        assert board.identify(deadline).version == "1.26.0" and board.saved_files is None


@pytest.mark.parametrize(("family", "boots"), [("native", [3, 5]), ("foreign", [1, 3])])
def test_what_is_in_the_image_runs_by_programming_it(
    family: str, boots: list[int], boards: Boards, deadline: Deadline, tmp_path: Path
) -> None:
    fake, log = boards(runtime=None), list[str]()
    with usb_board(fake, log=log.append, save_files_to=tmp_path / "saved") as board:
        board.deploy(Deployment({}, family), deadline)
        if family == "native":
            with pytest.raises(BoardError, match=r"^fake board: the image to run has not been flashed$"):
                board.run(deadline)
        board.flash(Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
        assert log[0] == "files: the board's files cannot be read in the boot loader; none were saved"
        with pytest.raises(BoardError, match="nothing was deployed"):
            board.run(deadline)
        board.deploy(Deployment({}, family), deadline)
        for each in boots:
            assert board.run(deadline) == RunOutput(result=None, console=[]) and fake.boots == each


def test_a_board_has_the_options_that_it_was_given(boards: Boards) -> None:
    first, second = boards(), boards()
    two = SimpleNamespace(devices=lambda: [*first.devices(), *(replace(d, location="1-2") for d in second.devices())])
    more: dict[str, Any] = {each: Mock() for each in ("power", "watch", "ask_bootsel", "log")}
    with UsbBoard(DEFINITION, bus=two, choose=lambda found: found[1], poll_s=0.25, **more) as board:
        named = f"{DEFINITION.title} (E6605838833A552C)"
        assert board.name == named and board.where is Where.SILICON
        assert board.link == Link(DEFINITION, named, board.link.target, poll_s=0.25, **more)
        assert board.link.target.known == two.devices()[1] and more["watch"].called
        assert lock_path(two.devices()[1]).name == "1-2.lock" and lock_path(two.devices()[1]).exists()
    bare = [replace(each, serial_number=None, emulated=True, location=None) for each in first.devices()]
    with UsbBoard(DEFINITION, device=f"port:{first.port}", bus=SimpleNamespace(devices=lambda: bare)) as board:
        assert board.name == f"{DEFINITION.title} ({first.port})" and board.where is Where.EMULATED
        assert board.link == Link(DEFINITION, board.name, board.link.target) and board.link.poll_s == 0.1
    with pytest.raises(BoardUnavailable, match=r"^b: not plugged in$"):
        UsbBoard(DEFINITION, bus=first, choose=lambda found: None, name="b")


def test_only_one_at_a_time_has_a_board(boards: Boards) -> None:
    fake = boards()
    with usb_board(fake) as board, pytest.raises(BoardUnavailable) as said:
        usb_board(fake)
    assert str(said.value) == f"{board.name}: in use by another portbench (process {os.getpid()})"
    assert not list(lock_dir().glob("*.pid"))
    usb_board(fake).close()


def test_the_listing_tells_runtime_and_state(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = boards()
    (device,) = fake.devices()
    whole = AttachedBoard(device, "console", "micropython", "1.26.0", "W5500", "W5500-EVB-Pico with RP2040")
    ports: list[Any] = []

    def opens(*words: Any, **more: Any) -> Any:
        assert (words[:2], more) == ((device.port, device.port), {"provider_pid": os.getpid(), "settle_s": 0.001})
        ports.append(open_port(*words, **more))
        return ports[-1]

    monkeypatch.setattr(discovery, "open_port", opens)
    assert listing(fake) == listing(fake) == [whole] and [each.is_open for each in ports] == [False] * 2
    cells = ["id:E6605838833A552C", "2e8a:0005", "micropython 1.26.0", "W5500", device.port, "-", "console", ""]
    assert whole.cells() == cells and len(HEADING) == len(cells)
    emulated = AttachedBoard(replace(device, emulated=True, port=None, volume=Path("/v")), "silent", advice="a\nb")
    assert emulated.cells() == ["usb:1-1", "2e8a:0005", "-", "-", "-", "/v", "silent (emulated)", r"a\x0ab"]
    interrupts = fake.typed.count(b"\x03")
    assert listing(fake, ask=False) == [AttachedBoard(device, "console")] and fake.typed.count(b"\x03") == interrupts
    refused = "no permission to open it"
    monkeypatch.setattr(discovery, "open_port", Mock(side_effect=BoardUnavailable(refused)))
    assert listing(fake) == [AttachedBoard(device, "no permission", advice=refused)]


def test_the_listing_reads_circuitpythons_drive_without_interrupting(boards: Boards) -> None:
    fake = boards(runtime="circuitpython")
    (device,) = fake.devices()
    told = ("circuitpython", "9.1.4", "wiznet_w5500_evb_pico", "W5500-EVB-Pico with rp2040")
    assert listing(fake) == [AttachedBoard(device, "console", *told)] and fake.typed == b""
    device = replace(device, port=None)
    assert listing(SimpleNamespace(devices=lambda: [device])) == [
        AttachedBoard(device, "console", *told, advice="it has no serial port")
    ]


def test_the_listing_of_a_boot_loader_and_of_what_has_nothing(boards: Boards) -> None:
    fake = boards(runtime=None)
    (device,) = fake.devices()
    assert listing(fake) == [AttachedBoard(device, "bootloader", "UF2 boot loader", "2.0", "RPI-RP2")]
    bare, modem = replace(device, pid=5, volume=None), replace(device, vid=0x1234)
    assert listing(SimpleNamespace(devices=lambda: [modem, bare])) == [
        AttachedBoard(bare, "silent", advice="it has neither a serial port nor a drive that can be read")
    ]


@pytest.mark.parametrize(("comes", "advice"), [(True, ""), (False, "its drive is not mounted")])
def test_the_listing_waits_for_the_drive_of_an_emulated_boot_loader(
    comes: bool, advice: str, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.boards.usb.discovery._SETTLES_S", 60 if comes else 0.1)
    (whole,) = (replace(device, emulated=True) for device in boards(runtime=None).devices())
    other = replace(whole, vid=0x1234, location="1-2")
    without = [other, replace(whole, volume=None)]
    looks = chain([without, without], repeat([other, whole] if comes else without))
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
