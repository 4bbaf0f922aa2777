"""docs/adding-a-board.md, followed to the letter in a separate folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, load_board
from portbench.boards.definition import DEFINITIONS
from portbench.boards.emulated.config import engine_settings
from tests import patience

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-board.md").read_text(encoding="utf-8")
LONGEST_S = 90


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.engine
def test_the_page_leads_to_a_board_of_ones_own(tmp_path: Path) -> None:
    names = re.findall(r"`([\w/]+\.toml)`:\n\n```toml", PAGE)
    assert names == ["boards/MY_PICO.toml", "catalogue.toml"]
    for name, text in zip(names, blocks("toml"), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (script,) = blocks("sh")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PORTBENCH_RUNTIME_DIR": str(tmp_path / "run"),
        "PORTBENCH_LOCK_DIR": str(tmp_path / "locks"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    environment.pop("PYTEST_CURRENT_TEST", None)
    process = subprocess.Popen(
        ["bash", "-c", f"set -me\n{script}wait %1"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = patience.communicate(process, LONGEST_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, said
    assert re.search(r"^my-build +micropython +MY_PICO +1.26.0 +missing", said, re.MULTILINE), said
    assert "SPI(1, 20_000_000, mosi=Pin(11), miso=Pin(12), sck=Pin(10))" in " ".join(said.split()), said
    assert re.search(r"^MY_PICO +A Pico with a W5500 module +W5500 *$", said, re.MULTILINE), said
    assert re.search(r"^usb:mine +2e8a:0003 +UF2 boot loader .*bootloader \(emulated\)$", said, re.MULTILINE), said
    assert list((tmp_path / "run").iterdir()) == []


def test_the_page_has_every_key() -> None:
    keys = re.findall(r"^([\w.]+) = |^(\[\w+\])$", (DEFINITIONS / "W5500_EVB_PICO.toml").read_text(), re.MULTILINE)
    (table,) = re.findall(r"\| key \|.*?\n\n", PAGE, re.DOTALL)
    (pins,) = re.findall(r"`sck_pin` \.\.\. `intn_pin`", table)
    shown = set(re.findall(r"`(\[?\w+\]?)`", table.replace(pins, "")))
    usb_and_volumes = {"bootloader", "micropython", "circuitpython", "bootloader_board_id"}
    expected = {key or heading for key, heading in keys} - usb_and_volumes
    assert {key for key in expected if not key.endswith("_pin")} <= shown


def test_the_refusal_is_the_one_that_the_page_quotes() -> None:
    board = load_board(DEFINITIONS / "W5100S_EVB_PICO.toml")
    assert board.network is not None
    with pytest.raises(BoardUnavailable) as caught:
        engine_settings(replace(board, id="W6100_EVB_PICO", network=replace(board.network, chip="W6100")))
    assert f"`{caught.value}`" in PAGE
