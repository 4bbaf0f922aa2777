"""`portbench flash`: one image, and its signs of life."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from portbench.firmware import uf2, uf2_families
from portbench.firmware.catalogue import Family
from portbench.runner.flashing import pins_told
from portbench.testing.board import Board
from tests.boards.emulated.guests import GP25_DRIVEN, NAKS_FOR_EVER, NEVER_ANSWERS_USB, erases_itself, poking, uart_says
from tests.conftest import Image
from tests.dead_images import HANDLER, DeadImage, banner, build, write
from tests.ping_pong import NATIVE_IMAGE
from tests.runner.cli.test_desk import StartDesk, desk_with, line  # noqa: F401  (a fixture)
from tests.runner.conftest import Invoke, Start

pytestmark = pytest.mark.engine


def test_a_program_without_usb_shows_its_network_and_pins(invoke: Invoke) -> None:
    done = invoke("flash", NATIVE_IMAGE, "--seconds", "2")
    first, *told = done.stdout.splitlines()
    assert done.exit_code == 0 and first == f"W5500_EVB_PICO, emulated: {NATIVE_IMAGE}"
    assert re.fullmatch(r"  network: \d+ frames sent, address 192\.168\.50\.\d+", told[0])
    assert told[1].startswith("  pins: drives GP") and "GP17" in told[1]
    found = json.loads(invoke("flash", NATIVE_IMAGE, "--seconds", "2", "--json").stdout)
    assert found["alive"] and [f"  {each}" for each in found["lines"]] == told


@pytest.mark.parametrize(
    ("dead", "said"),
    [
        (DeadImage.STANDS_STILL, "no USB, console, network or pin in 1 s of simulated time"),
        (DeadImage.LOCKS_UP, "core 0 locked up"),
        (DeadImage.RESETS, " resets in "),
    ],
)
def test_an_image_that_is_dead_says_how_and_fails(dead: DeadImage, said: str, invoke: Invoke, tmp_path: Path) -> None:
    write(tmp_path / "dead.uf2", dead, Family.MICROPYTHON, "1.26.0")
    done = invoke("flash", tmp_path / "dead.uf2", "--seconds", "1")
    assert done.exit_code == 1 and done.stdout.count(said) == 1


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b"> ready\r\n1\r\n2\r\n3\r\n4\r\n5\r\n", ["> ready", "1", "2", "3", "4", "1 more line; --json shows all"]),
        (b"1\n2\n3\n4\n5\n6\n7\n", ["1", "2", "3", "4", "5", "2 more lines; --json shows all"]),
        (b"\0\0ready, 20 \xc2\xb0C\x1b[0m\r\n", ["ready, 20 °C"]),
        (b"\x1b]0;Done | 9.1.4\x1b\\\x1b[2K\r\n \x1b[0G\r\nReady\r\n", ["Done | 9.1.4", "Ready"]),
        (b"\x90\x3c\x7f", ["3 bytes, not text: 90 3c 7f"]),
        (bytes(range(128, 137)), ["9 bytes, not text: 80 81 82 83 84 85 86 87 ..."]),
        (b"\0\1", ["2 bytes, not text: 00 01"]),
    ],
)
def test_a_program_whose_output_is_on_a_uart_shows_it(
    sent: bytes, shown: list[str], invoke: Invoke, tmp_path: Path
) -> None:
    """Programs of pico-sdk's `stdio_uart` may have no USB."""
    (tmp_path / "uart.uf2").write_bytes(uf2.build(uart_says(sent)))
    done = invoke("flash", tmp_path / "uart.uf2", "--seconds", "0.1")
    lines = [f"  UART 0: {line}" for line in shown]
    assert done.stdout.splitlines()[1:] == [*lines, "  pins: drives GP0"] and done.exit_code == 0


def test_json_has_all_lines(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "uart.uf2").write_bytes(uf2.build(uart_says(b"1\n2\n3\n4\n5\n6\n7\n")))
    done = invoke("flash", tmp_path / "uart.uf2", "--seconds", "0.1", "--json")
    assert json.loads(done.stdout)["lines"] == [*(f"UART 0: {line}" for line in range(1, 8)), "pins: drives GP0"]


@pytest.mark.parametrize(
    ("program", "says", "told"),
    [
        (erases_itself(), b"", "erased 4 KiB of its image at 0.1 s, from 0x10000000 on"),
        (NAKS_FOR_EVER, b"", "USB: attached, but not enumerated 2.0 s later: the PC's request is answered with NAK"),
        (NEVER_ANSWERS_USB, b"", "USB: attached, but not enumerated 2.0 s later"),
        (poking(*GP25_DRIVEN, then=(0xDE00, 0xBF00)), b"", "core 0 stays in its fault, so no program runs"),
        (poking(*GP25_DRIVEN), banner(Family.MICROPYTHON), "no USB, console or network in 2 s of simulated time; "),
    ],
    ids=["erases itself", "answers NAK", "does not answer USB", "is in HardFault", "has no prompt"],
)
def test_an_image_that_answers_nothing_fails_and_says_why(
    program: tuple[int, ...], says: bytes, told: str, invoke: Invoke, tmp_path: Path
) -> None:
    image = uf2.parse(build(program, says))
    (tmp_path / "image.uf2").write_bytes(uf2.with_data(image, HANDLER, b"\xfe\xe7"))  # the handler: B .
    done = invoke("flash", tmp_path / "image.uf2", "--seconds", "2")
    lines = done.stdout.splitlines()
    assert done.exit_code == 1 and sum(line.startswith(f"  {told}") for line in lines) == 1, done.stdout


def test_the_boot_loader_on_usb_is_no_sign_of_the_image(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our boot ROM has no boot loader to go to."""

    class InBootLoader(Board):
        events = property(lambda _: ["0.100000 s usb configured 2e8a:0003"])  # type: ignore[assignment]

    monkeypatch.setattr("portbench.testing.board.Board", InBootLoader)
    write(tmp_path / "back.uf2", DeadImage.STANDS_STILL, Family.MICROPYTHON, "1.26.0")
    done = invoke("flash", tmp_path / "back.uf2", "--seconds", "0.1")
    assert done.stdout.splitlines()[-1] == "  USB: the board's boot loader answers, not the image"
    assert done.exit_code == 1


def test_a_fault_whose_handler_returns_is_the_programs_own_way(invoke: Invoke, tmp_path: Path) -> None:
    """NuttX calls its kernel by SVC, with interrupts off."""
    cpsid_svc_stop = (0xB672, 0xDF00, 0xE7FE, 0xBF00)
    image = uf2.parse(build(poking(*GP25_DRIVEN, then=cpsid_svc_stop), b""))
    (tmp_path / "image.uf2").write_bytes(uf2.with_data(image, HANDLER, b"\x70\x47"))  # the handler: BX LR
    done = invoke("flash", tmp_path / "image.uf2", "--seconds", "1")
    (fault, pins) = done.stdout.splitlines()[1:]
    assert fault.endswith("SVC where SVCall is masked; its handler returned (later ones are not shown)")
    assert pins == "  pins: drives GP25" and done.exit_code == 0


def test_pins_that_the_package_lacks_are_told_apart(invoke: Invoke, tmp_path: Path) -> None:
    """The die of an RP2350 has 48 GPIOs, an RP2350A 30 of them."""
    pins = 25, 32, 33, 34
    select = [(0x4002_8004 + 8 * pin, 5) for pin in pins] + [(0x4003_8004 + 4 * pin, 0x56) for pin in pins]
    program = poking(*select, (0xD000_0038, 1 << 25), (0xD000_003C, 7), resets=0x4002_3000, blocks=0x1FFF_FFFF)
    definition = struct.pack("<7I", 0x2000_1000, 0x1000_001D, 0xFFFF_DED3, 0x1021_0142, 0x1FF, 0, 0xAB12_3579)
    content = definition + struct.pack(f"<{len(program)}H", *program)
    (tmp_path / "many.uf2").write_bytes(uf2.build(content, family_id=uf2_families.RP2350))
    assert invoke("flash", tmp_path / "many.uf2", "--seconds", "0.1").stdout.splitlines()[1:] == [
        "  pins: drives GP25",
        "  pins: sets GP32 to GP34 as outputs, too, which only an RP2350B has",
    ]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], ""),
        (["GP0", "GP1", "GP3", "GP4", "GP5", "GP25"], "GP0, GP1, GP3 to GP5, GP25"),
        (["PA6", "PA7", "PB0", "PB1", "PB2"], "PA6, PA7, PB0 to PB2"),
    ],
)
def test_neighbours_among_pins_are_told_together(names: list[str], told: str) -> None:
    assert pins_told(names) == told


def test_that_no_board_is_on_usb_is_said(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "uart.uf2").write_bytes(uf2.build(uart_says(b"hello")))
    words = "flash", tmp_path / "uart.uf2", "--seconds", "0.1"
    told = "no W5500_EVB_PICO on USB: an emulated one boots the image; --where silicon needs a real one\n"
    assert invoke(*words).stderr == told and invoke(*words, "--where", "emulated").stderr == ""


def test_a_console_that_waits_for_a_key_gets_one(invoke: Invoke, image: Image) -> None:
    """MicroPython before 1.24 prints its banner before the PC has opened the port."""
    done = invoke("flash", image("wiznet-hardwired"), "--seconds", "1")
    assert done.stdout.splitlines()[-2:] == ["  console: nothing until Enter was pressed", "  console: >>> "]
    assert done.exit_code == 0


def test_the_emulated_pc_takes_the_time_of_a_driver(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arduino's mbed core stops where the next SETUP comes at once."""
    made: list[dict[str, Any]] = []

    class Noted(Board):
        def __init__(self, kind: str, **settings: Any) -> None:
            made.append(settings)
            super().__init__(kind, **settings)

    monkeypatch.setattr("portbench.testing.board.Board", Noted)
    (tmp_path / "uart.uf2").write_bytes(uf2.build(uart_says(b"hello")))
    invoke("flash", tmp_path / "uart.uf2", "--seconds", "0.1")
    assert [each["usb_request_gap_us"] for each in made] == [100]


def test_an_image_of_a_board_without_a_definition_says_so(invoke: Invoke, tmp_path: Path) -> None:
    banner = b"\0MicroPython v1.26.0 on 2025-08-09\0; Gizmo with RP2040\0"
    (tmp_path / "other.uf2").write_bytes(build((0xE7FE,), banner))
    done = invoke("flash", tmp_path / "other.uf2", "--seconds", "0.1")
    told = done.stdout.splitlines()
    assert told[1] == "  the image is for a board without a definition: Gizmo with RP2040"
    assert told[0].startswith("W5500_EVB_PICO, emulated: ")


def test_what_is_no_image_of_a_board_is_refused(start: Start) -> None:
    hosted = start("flash", "micropython-unix")
    assert hosted.returncode == 1 and hosted.stderr.startswith("portbench: micropython-unix: is not an image; ")
    unknown = start("flash", "micropython-1.2")
    assert unknown.returncode == 2 and "unknown runtime or .uf2 file 'micropython-1.2'" in unknown.stderr


def test_a_python_image_shows_its_banner(invoke: Invoke, image: Image) -> None:
    done = invoke("flash", image("micropython-1.26.0"), "--seconds", "2")
    assert done.exit_code == 0
    assert "usb configured 2e8a:0005\n" in done.stdout and "  console: MicroPython v1.26.0 on " in done.stdout


def test_a_board_on_the_desk_is_flashed_and_asked(
    desk_with: StartDesk,  # noqa: F811
    start: Start,
    image: Image,
) -> None:
    line(desk_with(), r"^desk: drive RPI-RP2 at ")
    done = start("flash", image("micropython-1.26.0"), "--device", "usb:desk")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": micropython 1.26.0 answers, on W5500-EVB-Pico with RP2040\n")
