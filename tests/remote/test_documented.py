"""The pages that a board's owner follows: what they say is what happens."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.boards import load_board
from portbench.boards.definition import DEFINITIONS
from portbench.runner import plugin

DOCS = Path(__file__).parents[2] / "docs"
HARDWARE = (DOCS / "hardware.md").read_text(encoding="utf-8")


def test_the_rules_are_for_the_boards_that_there_are() -> None:
    rules = (DOCS / "60-portbench.rules").read_text(encoding="utf-8").splitlines()
    for board in map(load_board, DEFINITIONS.glob("*.toml")):
        for usb_id in (board.usb.micropython, board.usb.circuitpython):
            vendor = f'ATTRS{{idVendor}}=="{usb_id.vid:04x}"'
            assert f'SUBSYSTEM=="tty", {vendor}, MODE="0660", TAG+="uaccess"' in rules
            assert f'{vendor}, ENV{{ID_MM_DEVICE_IGNORE}}="1"' in rules
    assert all(line.startswith("#") or re.fullmatch(r'([A-Z]+({\w+})?(==|=|\+=)"[^"]*"(, )?)+', line) for line in rules)


def test_the_options_of_the_pages_exist() -> None:
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    known = {name for group in parser._groups for option in group.options for name in option.names()}
    text = HARDWARE + (DOCS / "labgrid.md").read_text(encoding="utf-8")
    for line in re.findall(r"(?:pytest|make flash-and-bench|\bR) [^\n`]*", text):
        assert set(re.findall(r"--[a-z-]+", line)) <= known | {"--listen"}, line


@pytest.mark.skipif(
    importlib.util.find_spec("portbench._engine") is None,
    reason="the emulated board's engine is not built; run: make build",
)
def test_the_page_leads_from_nothing_to_a_table(tmp_path: Path) -> None:
    block = re.search(r"```sh\n(.*?)```", HARDWARE, re.DOTALL)
    assert block is not None
    script = block[1].replace(". .venv/bin/activate\n", "set -m\n")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PORTBENCH_RUNTIME_DIR": str(tmp_path / "run"),
        "PORTBENCH_LOCK_DIR": str(tmp_path / "locks"),
        "PYTEST_ADDOPTS": f"--results-dir={tmp_path / 'results'}",
        "COLUMNS": "160",
    }
    environment.pop("PYTEST_CURRENT_TEST", None)
    process = subprocess.Popen(
        ["bash", "-c", script],
        cwd=DOCS.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=100)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert re.search(r"^usb:desk +2e8a:0003 +UF2 boot loader 2.0 .*bootloader \(emulated\)$", said, re.MULTILINE), said
    assert re.search(r"\[1/1\] measured +portbench-native tuned", said), said
    assert re.search(r"│ +1 │ portbench-native", said), said
