"""The pages are true: every verb and option that they name, and the way from nothing to a table."""

import os
import re
import sys
from pathlib import Path

import pytest

from portbench.boards import load_board
from portbench.boards.definition import DEFINITIONS
from portbench.runner.cli import portbench
from portbench.runner.cli.group import Verbs
from tests import patience

ROOT = Path(__file__).parents[3]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "workloads").rglob("README.md")])
HARDWARE = (ROOT / "docs" / "hardware.md").read_text(encoding="utf-8")


def flags(verb: str, rest: str = "") -> set[str]:
    """The options of `portbench VERB REST`, where the first word of `rest` may be a verb below."""
    command = portbench.get_command(None, verb)
    assert command is not None, f"portbench {verb}"
    below = (rest.split() or [""])[0]
    if isinstance(command, Verbs) and below in command.list_commands():
        command = command.get_command(None, below)
        assert command is not None
    return {flag for option in command.params for flag in option.opts} | {"--help"}


def named(text: str) -> list[tuple[str, str]]:
    """Verb and the rest of the line, of each `portbench VERB ...` of code; `R` stands for a bench on silicon."""
    code = re.findall(r"`([^`\n]+)`|^ {4,}(.+)$", re.sub(r"```\w*\n(.*?)```", _indented, text, flags=re.DOTALL), re.M)
    lines = [(inline or block).partition("  #")[0] for inline, block in code]
    found = []
    for line in lines:
        for verb, rest in re.findall(r"\bportbench ([a-z]+)((?: [^|&;`#]*)?)", line):
            found.append((verb, rest))
        for rest in re.findall(r"(?:^|; |`)R( [^;`]*)", line):
            found.append(("run", rest))
        for rest in re.findall(r'make flash-and-bench ARGS="([^"]*)"', line):
            found.append(("run", rest))
    return found


def _indented(match: re.Match[str]) -> str:
    return "".join(f"    {line}\n" for line in match[1].splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_is_there(page: Path) -> None:
    for verb, rest in named(page.read_text(encoding="utf-8")):
        own = rest.partition(" -- ")[0]
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", own)) <= flags(verb, own), f"portbench {verb}{rest}"


def test_the_pages_are_read() -> None:
    found = [verb for page in PAGES for verb, _ in named(page.read_text(encoding="utf-8"))]
    assert {"run", "list", "desk", "trace", "show", "check"} <= set(found) and len(found) > 30


def test_running_has_every_verb() -> None:
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    for verb in portbench.list_commands():
        assert re.search(rf"`{verb}`", text), verb


@pytest.mark.engine
def test_the_page_leads_from_nothing_to_a_table(tmp_path: Path, environment: dict[str, str]) -> None:
    block = re.search(r"```sh\n(.*?)```", HARDWARE, re.DOTALL)
    assert block is not None
    command = tmp_path / "bin" / "portbench"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m portbench "$@"\n')
    command.chmod(0o755)
    script = block[1].replace(". .venv/bin/activate\n", "set -m\n")
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    said = patience.script(script, 250, cwd=tmp_path, env=environment | {"PATH": path}).stdout
    assert re.search(r"^usb:desk +2e8a:0003 +UF2 boot loader 2.0 .*bootloader \(emulated\)$", said, re.MULTILINE), said
    assert re.search(r"\[1/1\] measured +portbench-native tuned", said), said
    assert re.search(r"(?m)^ *-  portbench-native", said), said


def test_the_rules_are_for_the_boards_that_there_are() -> None:
    rules = (ROOT / "docs" / "60-portbench.rules").read_text(encoding="utf-8").splitlines()
    for board in map(load_board, DEFINITIONS.glob("*.toml")):
        for usb_id in (board.usb.micropython, board.usb.circuitpython):
            if not usb_id.vid:  # an ATmega, which has no USB
                continue
            vendor = f'ATTRS{{idVendor}}=="{usb_id.vid:04x}"'
            assert f'SUBSYSTEM=="tty", {vendor}, MODE="0660", TAG+="uaccess"' in rules
            assert f'{vendor}, ENV{{ID_MM_DEVICE_IGNORE}}="1"' in rules
    assert all(line.startswith("#") or re.fullmatch(r'([A-Z]+({\w+})?(==|=|\+=)"[^"]*"(, )?)+', line) for line in rules)
