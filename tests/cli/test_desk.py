"""A board that stays, and what one does with it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.results import storage
from tests.cli.conftest import COMMAND, LIMIT_S, Start

pytest.importorskip("portbench._engine", reason="the engine is not built; run: make build")


@pytest.fixture
def desk(empty: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*COMMAND, "desk", "--log", "events.txt"],
        cwd=empty,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The next line that has `pattern` in it."""
    limit = Deadline(LIMIT_S, "desk")
    assert process.stdout is not None
    while text := process.stdout.readline():
        limit.check(pattern)
        if found := re.search(pattern, text):
            return found
    raise AssertionError(f"ended without {pattern}")


def test_a_desk_is_found_measured_switched_and_ended(
    desk: subprocess.Popen[str], start: Start, empty: Path, tmp_path: Path
) -> None:
    line(desk, r"^desk: measure on it with --device=usb:desk; its PC serves ping_pong; Ctrl-C ends it$")
    drive = line(desk, r"^desk: drive RPI-RP2 at (.+)$")[1]
    assert (Path(drive) / "INFO_UF2.TXT").exists()
    (board,) = json.loads(start("boards", "--json").stdout)
    assert (board["device"], board["state"], board["emulated"]) == ("usb:desk", "bootloader", True)
    assert start("boards").stdout.startswith("usb:desk  2e8a:0003  UF2 boot loader")
    second = start("desk")
    assert second.returncode == 1 and second.stderr.startswith("portbench: desk: runs already, as process ")
    done = start("run", "--device=usb:desk", "--runtime=portbench-native", "--runs=1", "--messages=50")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = storage.read(empty / "results" / "latest.json").rows
    assert row.where == "emulated" and row.settings == {"messages": 50}
    assert start("power", "desk", "--bootsel").returncode == 0
    assert "usb " in (empty / "events.txt").read_text()
    desk.send_signal(signal.SIGINT)
    assert desk.wait(LIMIT_S) == 0
    assert not (tmp_path / "run" / "desk").exists()


@pytest.mark.parametrize(("words", "scheme"), [([], "rfc2217"), (["--raw"], "socket")])
def test_a_desks_console_is_served(
    words: list[str], scheme: str, desk: subprocess.Popen[str], empty: Path, environment: dict[str, str]
) -> None:
    line(desk, r"^desk: drive ")
    command = [*COMMAND, "remote", "--device=usb:desk", "--listen=127.0.0.1:0", *words]
    with subprocess.Popen(command, cwd=empty, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            line(process, rf"^--device={scheme}://127\.0\.0\.1:\d+$")
            process.terminate()
            assert process.wait(LIMIT_S) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--board", "nothing"], "unknown board 'nothing'"),
        (["--config", '{"speed": 1}'], "speed"),
        (["--flash", "nowhere/desk.bin"], "nowhere/desk.bin.board: No such file or directory"),
        (["--pin", "GP40=low"], "--pin: 'GP40' is no pin; use GP0 to GP29"),
        (["--wire", "GP1"], "--wire: 'GP1' is no wire; write GP0:GP1"),
    ],
)
def test_a_board_that_cannot_be_is_one_line(words: list[str], says: str, start: Start) -> None:
    done = start("desk", *words)
    assert done.returncode == 1 and says in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_desk_has_ports_with_names_that_stay_pins_and_a_flash_that_does(
    start: Start, empty: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["desk", "--board=RPI_PICO", "--flash=desk.bin", "--pin=GP15=low", "--wire=GP0:GP1", "--free-running"]
    for session in range(2):
        with subprocess.Popen(
            [*COMMAND, *words], cwd=empty, env=environment, stdout=subprocess.PIPE, text=True
        ) as desk:
            try:
                assert line(desk, r"^desk: UART0 (.+)$")[1] == str(tmp_path / "run" / "desk.uart0")
                line(desk, r"^desk: drive RPI-RP2 at ")
                assert start("pins", "usb:desk", "GP0=high", "GP26=1.65").stdout == ""
                assert start("pins", "desk").stdout.splitlines() == [
                    "GP0  high  held at high, wired to GP1",
                    "GP1  high  wired to GP0",
                    "GP15 low   held at low",
                    "GP24 high  held at high",
                    "GP26 high  held at 1.65 V",
                    "GP29 low   held at 1.57 V",
                ]
                now = json.loads(start("pins", "desk", "GP26=open", "--cut=GP1:GP0", "--json").stdout)
                assert (now["wires"], now["held"]) == ([], {"0": 3.3, "15": 0.0, "24": 3.3, "29": 1.57})
                wrong = start("pins", "desk", "--cut=GP1:GP0")
                assert (wrong.returncode, wrong.stderr) == (1, "portbench: desk: pins: no wire joins GP1 and GP0\n")
                if session:
                    refused = start("desk", "--name=other", "--board=RPI_PICO", "--flash=desk.bin")
                    assert refused.returncode == 1 and "another board that runs has it" in refused.stderr
            finally:
                desk.send_signal(signal.SIGTERM)
            assert desk.wait(LIMIT_S) == 0
        assert (empty / "desk.bin").stat().st_size == 2 << 20
        assert (empty / "desk.bin.board").read_text() == "RPI_PICO\n"
        assert list((tmp_path / "run").iterdir()) == []
    other = start("desk", "--flash=desk.bin")
    assert other.returncode == 1 and other.stderr.count("\n") == 1
    assert "desk.bin: is the flash of a RPI_PICO; use --board RPI_PICO or another file" in other.stderr


def test_power_of_a_board_that_does_not_run_is_one_line(start: Start) -> None:
    done = start("power", "nobody")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("portbench: nobody: its control channel does not answer")
    assert start("boards").stdout == "no board is attached\n"
