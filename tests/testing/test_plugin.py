"""The plugin for pytest: its fixtures, and the files of a failure."""

import re
import shutil
from pathlib import Path

import dpkt
import pytest

from portbench.install import engine_again
from tests.ping_pong import NATIVE_IMAGE
from tests.testing.conftest import RunTests

FAIL = """
def test_fails(emulated_board):
    emulated_board.flash("app.uf2")
    emulated_board.listen(5000).accept().expect(b"never", within_s=0.25)
"""

WITHOUT_ENGINE = """
import sys
sys.modules["portbench_engine"] = None
import portbench.testing

def test_fails(emulated_board):
    pass

def test_imports():
    from portbench.testing import Board
"""


@pytest.mark.engine
def test_a_failure_keeps_the_console_and_the_frames(project: Path, run_tests: RunTests) -> None:
    (project / "test_app.py").write_text(FAIL)
    shutil.copy(NATIVE_IMAGE, project / "app.uf2")
    times = set()
    for _ in range(2):
        done = run_tests("-q", f"--basetemp={project / 'artifacts'}")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "b'never' did not come within 0.25 s of simulated time" in done.stdout
        assert "the connection's last lines:\n" in done.stdout
        kept = re.search(r"^kept: (.+), (.+)$", done.stdout, re.MULTILINE)
        assert kept is not None, done.stdout
        console, pcap = map(Path, kept.groups())
        assert console.read_text() == "" and project / "artifacts" in pcap.parents
        with pcap.open("rb") as file:
            times.add(tuple(dpkt.pcap.Reader(file)))
    (frames,) = times  # the same moments in both runs
    assert len(frames) > 10


def test_without_the_engine_both_ways_to_a_board_say_what_to_do(project: Path, run_tests: RunTests) -> None:
    (project / "test_app.py").write_text(WITHOUT_ENGINE)
    done = run_tests("-q", "-p", "no:randomly")
    why = f"the emulated board's engine is missing; {engine_again()}"
    assert done.returncode == 1 and f"\n{why}\n" in done.stdout, done.stdout + done.stderr
    assert re.search(rf"(?m)^E +portbench\.errors\.BoardUnavailable: {re.escape(why)}$", done.stdout), done.stdout
    assert "During handling" not in done.stdout


@pytest.mark.engine
def test_a_wrong_image_is_one_line_without_our_frames(project: Path, run_tests: RunTests) -> None:
    (project / "test_app.py").write_text(FAIL)
    done = run_tests("-q")
    assert "\ntest_app.py:3: Uf2Error\n" in done.stdout, done.stdout
    said = [line for line in done.stdout.splitlines() if line.startswith(("E ", ">"))]
    assert len(said) == 2 and "app.uf2: cannot be read" in said[1]
