"""A board that stays, and what one does with it."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import MISSING, fields
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from portbench.boards import BoardError, Deadline
from portbench.boards.emulated.sd_card import KINDS
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, EmulatedState, claimed_folder, write_state
from portbench.firmware.catalogue import Family
from portbench.results import storage
from portbench.runner.cli import portbench
from portbench.runner.cli.desk import described, desk_settings
from tests import patience
from tests.dead_images import DeadImage, write
from tests.runner.conftest import COMMAND, LIMIT_S, Start

pytestmark = pytest.mark.engine


StartDesk = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def desk_with(empty: Path, environment: dict[str, str]) -> Iterator[StartDesk]:
    with ExitStack() as stack:

        def start(command: str = "desk") -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [*COMMAND, *shlex.split(command), "--log", "events.txt"],
                cwd=empty,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def desk(desk_with: StartDesk) -> subprocess.Popen[str]:
    return desk_with()


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
    (board,) = json.loads(start("list", "boards", "--json").stdout)
    assert (board["device"], board["state"], board["emulated"]) == ("usb:desk", "bootloader", True)
    heading, row = start("list", "boards").stdout.splitlines()
    assert row.startswith("usb:desk  2e8a:0003  UF2 boot loader")
    assert heading.index("drive") == row.index(drive) and heading.index("state") == row.index("bootloader (emulated)")
    second = start("desk")
    assert second.returncode == 1 and second.stderr.startswith("portbench: desk: runs already, as process ")
    done = start("run", "--device=usb:desk", "--runtime=portbench-native", "--runs=1", "--messages=50")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = storage.read(empty / "results" / "latest.json").rows
    assert row.where == "emulated" and row.settings == {"messages": 50}
    assert start("desk", "power", "desk", "--bootsel").returncode == 0
    assert "usb " in (empty / "events.txt").read_text()
    desk.send_signal(signal.SIGINT)
    assert desk.wait(LIMIT_S) == 0
    assert not (tmp_path / "run" / "desk").exists()


def test_a_desk_that_was_a_moment_too_late_leaves_the_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path / "run"))
    with claimed_folder("desk") as folder:
        unknown = dict.fromkeys(field.name for field in fields(EmulatedState) if field.default is MISSING)
        other = EmulatedState(**{**unknown, "name": "desk", "pid": os.getpid()})  # type: ignore[arg-type]
        write_state(folder, other)
        seen = chain([None], repeat(other))
        monkeypatch.setattr("portbench.runner.cli.verbs.desk.read_state", lambda _: None)
        monkeypatch.setattr("portbench.boards.desk.started.read_state", lambda _: next(seen))
        done = CliRunner(catch_exceptions=False).invoke(portbench, ["desk"])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1 and "a board of that name runs already" in done.stderr


def test_a_desk_tells_of_a_crash_and_has_a_card(desk_with: StartDesk, empty: Path) -> None:
    desk = desk_with("desk --sd-card card.img")
    drive = line(desk, r"^desk: drive RPI-RP2 at (.+)$")[1]
    write(empty / "dead.uf2", DeadImage.LOCKS_UP, Family.MICROPYTHON, "1.26.0")
    shutil.copy(empty / "dead.uf2", drive)
    line(desk, r"^desk: core 0 locked up at pc 0x10000280, lr 0x[0-9a-f]{8}, exception \d+: ")
    command = shlex.split("mdir -i card.img")
    if shutil.which(command[0]) is None:
        pytest.skip("mtools is not installed; run: sudo .ci/install-system-packages")
    assert "SDCARD" in patience.run(command, LIMIT_S, cwd=empty).stdout


def test_ports_lead_to_a_desk(desk_with: StartDesk, start: Start) -> None:
    desk = desk_with(re.sub("8080|5353", "0", "desk --forward tcp:8080:80 --forward udp:5353:53"))
    port = line(desk, r"^desk: tcp 127\.0\.0\.1:(\d+) leads to 80 of the board$")[1]
    udp = line(desk, r"^desk: (udp 127\.0\.0\.1:\d+ leads to 53 of the board)$")[1]
    line(desk, r"^desk: drive ")
    listed = start("desk", "forward", "usb:desk").stdout
    assert listed == f"tcp 127.0.0.1:{port} leads to 80 of the board\n{udp}\n"
    added = start("desk", "forward", "desk", "tcp:0:7").stdout
    assert re.fullmatch(r"tcp 127\.0\.0\.1:\d+ leads to 7 of the board\n", added)
    end = "desk forward desk --end tcp:8080".replace("8080", port).split()
    assert start(*end).returncode == 0
    assert start("desk", "forward", "desk").stdout == f"{udp}\n{added}"
    done = start(*end)
    assert done.returncode == 1 and "does not lead to the board" in done.stderr and done.stderr.count("\n") == 1
    taken = added.split()[1].rpartition(":")[2]
    done = start("desk", "forward", "desk", f"tcp:{taken}:53")
    assert done.returncode == 1 and f"port {taken} of 127.0.0.1 is not available" in done.stderr


@pytest.mark.parametrize(
    ("command", "remote", "scheme"),
    [
        (
            """desk --config '{"pc_ip": "127.0.0.1", "bridge": [["127.0.0.1:5000", "127.0.0.1:5000"]]}'""",
            "desk remote --device usb:desk --listen 127.0.0.1:2217",
            "rfc2217",
        ),
        (
            "desk --name victim --config"
            """ '{"board_faults": [{"kind": "power-lost", "when": "answered", "after": 500}]}'""",
            "desk remote --device auto --listen 192.168.1.30:2217".replace("auto", "usb:victim") + " --raw",
            "socket",
        ),
    ],
)
def test_a_desks_console_is_served(
    command: str, remote: str, scheme: str, desk_with: StartDesk, empty: Path, environment: dict[str, str]
) -> None:
    line(desk_with(command), ": drive ")
    words = [*COMMAND, *re.sub(r"[\d.]+:2217", "127.0.0.1:0", remote).split()]
    with patience.started(words, cwd=empty, env=environment, stdout=subprocess.PIPE) as process:
        line(process, rf"^--device={scheme}://127\.0\.0\.1:\d+$")
        process.terminate()
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--board", "nothing"], "unknown board 'nothing'"),
        (["--config", '{"speed": 1}'], "speed"),
        (["--flash", "nowhere/desk.bin"], "nowhere/desk.bin.board: No such file or directory"),
        (["--pin", "GP40=low"], "--pin: 'GP40' is not a pin; use GP0 to GP29"),
        (["--forward", "tcp:0:80", "--board", "RPI_PICO"], "this board has no network"),
    ],
)
def test_a_board_that_cannot_be_is_one_line(words: list[str], says: str, start: Start) -> None:
    done = start("desk", *words)
    assert done.returncode == 1 and says in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_the_settings_of_a_desk_are_its_files_changed_by_the_options(tmp_path: Path) -> None:
    config = """{"pins": {"GP3": 1.5, "GP4": "low", "GP5": "low"}, "wires": ["GP6:GP7"], "turnaround_us": 7"""
    pins = ("GP26=1.65", "GP4=open", "GP3=high")
    usual = json.loads(desk_settings("{}", (), (), wall_clock=True))
    changed = usual | {"pins": {"3": 3.3, "5": 0.0, "26": 1.65}, "wires": [[6, 7], [0, 1]], "turnaround_us": 7}
    assert usual["wall_clock"] and usual["uart_ports"] and usual["pins"] == {} and usual["sd_card"] is None
    found = json.loads(desk_settings(config + "}", pins, ("GP0:GP1",), wall_clock=False))
    assert found == changed | {"wall_clock": False}
    card = {"kind": KINDS[1], "state": "worn", "seed": 9}
    config = json.dumps({"sd_card": card})
    found = [
        json.loads(desk_settings(each, (), (), wall_clock=True, sd_card=Path("card.bin")))["sd_card"]
        for each in ("{}", config)
    ]
    image = str(Path("card.bin").absolute())
    assert found == [{"kind": KINDS[0], "state": "sound", "seed": 1, "image": image}, card | {"image": image}]
    for wrong, says in (
        (("{}", ("GP15",), ()), "--pin: 'GP15' does not set a pin; write GP15=low, GP15=high, GP26=1.65 or GP15=open"),
        (("{}", (), ("GP0:GP99",)), "--wire: 'GP99' is not a pin; use GP0 to GP29"),
        (('{"pins": {"GP99": 1}}', (), ()), "--config: pins: 'GP99' is not a pin; use GP0 to GP29"),
    ):
        with pytest.raises(BoardError) as error:
            desk_settings(*wrong, wall_clock=True)
        assert str(error.value) == says


@pytest.mark.parametrize(("words", "wall_clock"), [([], True), (["--free-running"], False)])
def test_a_desk_keeps_to_the_clock_unless_it_runs_free(
    words: list[str], wall_clock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Mock(side_effect=BoardError("that is enough"))
    monkeypatch.setattr("portbench.runner.cli.verbs.desk.StartedDesk", started)
    done = CliRunner().invoke(portbench, ["desk", "--name", "its-own", *words])
    assert "that is enough" in done.output and json.loads(started.call_args.args[1])["wall_clock"] is wall_clock


def test_a_rule_is_told_with_its_addresses() -> None:
    rule = {"protocol": "tcp", "host": "127.0.0.1", "host_port": 80, "address": "", "port": 8080}
    assert described(rule) == "tcp 127.0.0.1:80 leads to 8080 of the board"
    rule |= {"host": "::1", "address": "10.0.0.2"}
    assert described(rule) == "tcp [::1]:80 leads to 10.0.0.2:8080 of the board"


def test_a_desk_has_ports_with_names_that_stay_pins_and_a_flash_that_does(
    start: Start, empty: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    pins = "desk --pin GP15=low --pin GP26=1.65 --wire GP0:GP1"
    command = f"desk --board RPI_PICO --flash desk.bin{pins.removeprefix('desk')} --free-running"
    for session in range(2):
        with subprocess.Popen(
            [*COMMAND, *command.split()], cwd=empty, env=environment, stdout=subprocess.PIPE, text=True
        ) as desk:
            try:
                assert line(desk, r"^desk: UART0 (.+)$")[1] == str(tmp_path / "run" / "desk.uart0")
                line(desk, r"^desk: drive RPI-RP2 at ")
                assert start("desk", "pins", "desk", "GP15=high", "GP2:GP3").stdout == ""
                assert start("desk", "pins", "usb:desk", "GP0=high").stdout == ""
                assert start("desk", "pins", "desk").stdout.splitlines() == [
                    "GP0  high  held at high, wired to GP1",
                    "GP1  high  wired to GP0",
                    "GP2  low   wired to GP3",
                    "GP3  low   wired to GP2",
                    "GP15 high  held at high",
                    "GP24 high  held at high",
                    "GP26 high  held at 1.65 V",
                    "GP29 low   held at 1.57 V",
                ]
                now = json.loads(start("desk", "pins", "desk", "GP15=open", "--cut", "GP2:GP3", "--json").stdout)
                assert (now["wires"], now["held"]) == ([[0, 1]], {"0": 3.3, "24": 3.3, "26": 1.65, "29": 1.57})
                wrong = start("desk", "pins", "desk", "--cut=GP3:GP2")
                assert (wrong.returncode, wrong.stderr) == (1, "portbench: desk: pins: no wire joins GP3 and GP2\n")
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
    done = start("desk", "power", "absent")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("portbench: absent: no emulated board of that name answers")
    assert start("list", "boards").stdout == "no board is attached\n"
    done = start("list", "boards", "--wait-s", "0.2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "portbench: boards: still waiting for a board to be attached after 0.2 s\n"
