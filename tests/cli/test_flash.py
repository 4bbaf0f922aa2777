"""`portbench flash`: one image, and its signs of life."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.runner.checks.soak.dead_images import DeadImage, build, write
from portbench.testing.board import Board
from tests.cli.conftest import Invoke, Start
from tests.conftest import NO_ENGINE, Image
from tests.emulated.guests import uart_says
from tests.ping_pong import NATIVE_IMAGE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from tests.cli.test_desk import StartDesk, desk_with, line  # noqa: F401  (a fixture)

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
        (b"\r\n> ready\r\n1\r\n2\r\n3\r\n4\r\n5\r\n", ["> ready", "1", "2", "3", "4", "1 more lines"]),
        (b"\x90\x3c\x7f", ["3 bytes, not text"]),
        (b"\0\1", ["2 bytes, not text"]),
    ],
)
def test_a_program_whose_output_is_on_a_uart_shows_it(
    sent: bytes, shown: list[str], invoke: Invoke, tmp_path: Path
) -> None:
    """As pico-sdk's `stdio_uart` does, whose programs may have no USB."""
    (tmp_path / "uart.uf2").write_bytes(uf2.build(uart_says(sent)))
    done = invoke("flash", tmp_path / "uart.uf2", "--seconds", "0.1")
    lines = [f"  UART 0: {line}" for line in shown]
    assert done.stdout.splitlines()[1:] == [*lines, "  pins: drives GP0"] and done.exit_code == 0


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
