"""Pages on how to add a board, a chip and a runtime, followed to the letter in a separate folder."""

import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, load_board
from portbench.boards.definition import DEFINITIONS
from portbench.boards.emulated.config import engine_settings
from tests import patience

PROJECT = Path(__file__).parents[2]
BOARD, CHIP, RUNTIME = (
    (PROJECT / "docs" / page).read_text(encoding="utf-8")
    for page in ("adding-a-board.md", "adding-a-chip.md", "adding-a-runtime.md")
)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


@pytest.mark.engine
def test_a_page_leads_to_a_board_of_ones_own(tmp_path: Path) -> None:
    names = re.findall(r"`([\w/]+\.toml)`:\n\n```toml", BOARD)
    assert names == ["boards/MY_PICO.toml", "catalogue.toml"]
    for name, text in zip(names, blocks(BOARD, "toml"), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (script,) = blocks(BOARD, "sh")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PORTBENCH_RUNTIME_DIR": str(tmp_path / "run"),
        "PORTBENCH_LOCK_DIR": str(tmp_path / "locks"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    environment.pop("PYTEST_CURRENT_TEST", None)
    done = patience.script(f"set -me\n{script}wait %1", 90, cwd=tmp_path, env=environment)
    said = done.stdout
    assert done.returncode == 0, said
    assert re.search(r"^my-build +micropython +MY_PICO +1.26.0 +missing", said, re.MULTILINE), said
    assert "SPI(1, 20_000_000, mosi=Pin(11), miso=Pin(12), sck=Pin(10))" in " ".join(said.split()), said
    assert re.search(r"^MY_PICO +A Pico with a W5500 module +W5500 *$", said, re.MULTILINE), said
    assert re.search(r"^usb:mine +2e8a:0003 +UF2 boot loader .*bootloader \(emulated\)$", said, re.MULTILINE), said
    assert list((tmp_path / "run").iterdir()) == []


def test_the_page_of_boards_has_every_key() -> None:
    keys = re.findall(r"^([\w.]+) = |^(\[\w+\])$", (DEFINITIONS / "W5500_EVB_PICO.toml").read_text(), re.MULTILINE)
    (table,) = re.findall(r"\| key \|.*?\n\n", BOARD, re.DOTALL)
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
    assert f"`{caught.value}`" in BOARD


@pytest.mark.slow
def test_a_page_leads_to_a_chip_of_ones_own(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed; install it with rustup")
    for name, language in (("chip/Cargo.toml", "toml"), ("chip/src/lib.rs", "rust")):
        assert f"`{name}`" in CHIP
        (block,) = blocks(CHIP, language)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(block.replace("ENGINE", str(PROJECT / "engine")), encoding="utf-8")
    (command,) = re.findall(r"^    (cargo .*)$", CHIP, re.MULTILINE)
    environment = os.environ | {"CARGO_TARGET_DIR": str(PROJECT / "engine" / "target" / "pages")}
    done = patience.run([*command.split(), "--offline"], 240, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "1 passed; 0 failed" in done.stdout


def test_a_page_leads_to_a_runtime_of_ones_own(tmp_path: Path) -> None:
    environment = os.environ | {
        "PORTBENCH_CATALOGUE": str(tmp_path / "mine.toml"),
        "PYTHONPATH": str(PROJECT),
        "PORTBENCH_OFFLINE": "1",
    }
    environment.pop("PYTEST_CURRENT_TEST", None)

    def said(*words: str) -> str:
        """Return the command's output; it has to succeed."""
        done = patience.run([sys.executable, "-m", "portbench", *words], 120, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (block,) = blocks(RUNTIME, "toml")
    (name,) = re.findall(r'^id = "(.*)"$', block, re.MULTILINE)
    (tmp_path / "mine.toml").write_text(block, encoding="utf-8")
    assert name in [runtime["id"] for runtime in json.loads(said("list", "--json"))["runtimes"]]
    rows = said("run", "--runtime", name, "--runs", "1", "--dry-run")
    assert f"{name} tuned" in rows or f"{name}-tuned" in rows
