"""`portbench profile`: tables for people, files for other tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke

pytest.importorskip("portbench_engine", reason="the engine is not built; run: make build")
pytestmark = pytest.mark.engine


def test_the_command(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("profile", "--messages", 10, "--exact", "--folded", "stacks.txt", "--speedscope", "profile.json")
    assert done.exit_code == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "by each instruction" in done.stdout and "SRAM" in done.stdout
    assert (tmp_path / "stacks.txt").read_text().startswith("core 0;")
    assert json.loads((tmp_path / "profile.json").read_text())["profiles"][0]["name"] == "core 0"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--exact", "--sampled", "5"], 2, "portbench profile: --exact and --sampled exclude each other"),
        (["--elf", __file__], 1, f"portbench: --elf: {__file__}: is neither an ELF file nor a linker map of GNU ld"),
        (["--folded", "/nowhere/x"], 1, "portbench: /nowhere/x: "),
    ],
)
def test_bad_input_is_one_line(words: list[str], status: int, says: str, invoke: Invoke) -> None:
    done = invoke("profile", *words)
    assert done.exit_code == status and done.stderr.startswith(says) and done.stderr.count("\n") == 1
