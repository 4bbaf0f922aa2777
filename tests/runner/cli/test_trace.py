"""`portbench trace` and `portbench profile`: tables for people, JSON for programs, files for other tools."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runner.conftest import Invoke

pytestmark = pytest.mark.engine


def test_the_command_tells_all(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("trace", "--messages", 6, "--exchange", 4, "--pc", 100, "--pcap", "frames.pcap")
    assert done.exit_code == 0
    for part in ("portbench-native tuned ping_pong, message 4 of 6", "S0_RX_RSR", "SEND", "chip selects", "counter"):
        assert part in done.stdout
    assert (tmp_path / "frames.pcap").read_bytes()[:4] == bytes.fromhex("4d3cb2a1")  # little-endian, nanoseconds


def test_json_is_all_that_is_printed(invoke: Invoke) -> None:
    found: dict[str, Any] = json.loads(invoke("trace", "--messages", 6, "--exchange", 4, "--json").stdout)
    assert (found["runtime"], found["profile"], found["exchange"]) == ("portbench-native", "tuned", 4)
    assert found["spi"]["chip_selects"] == len(found["frames"]) > 5


def test_a_page_is_80_columns_wide_and_ends_with_the_causes(invoke: Invoke) -> None:
    done = invoke("trace", "--messages", 6, "--slowest")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith("SPI bytes") and any(line.startswith("network and PC") for line in lines)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("trace --messages 3 --exchange 4", 1, "portbench: exchange 4: the run had 3 exchanges; choose 1 to 3"),
        ("trace --first --slowest", 2, "portbench trace: --message, --first and --slowest exclude each other"),
        ("trace --whole", 2, "portbench trace: --whole is for the files of --vcd and --perfetto"),
        ("trace --messages 3 --pcap /nowhere/x.pcap", 1, "portbench: "),
        ("profile --exact --sampled 5", 2, "portbench profile: --exact and --sampled exclude each other"),
        (
            f"profile --elf {shlex.quote(__file__)}",
            1,
            f"portbench: --elf: {__file__}: is neither an ELF file nor a linker map of GNU ld",
        ),
        ("profile --folded /nowhere/x", 1, "portbench: /nowhere/x: "),
    ],
)
def test_bad_input_is_one_line(words: str, status: int, says: str, invoke: Invoke) -> None:
    done = invoke(*shlex.split(words))
    assert done.exit_code == status and done.stderr.startswith(says) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("library", ["pcapng", "perfetto", "vcd"])
def test_a_missing_library_is_told_before_the_row_runs(
    library: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("portbench.runner.replayed.ReplayedRow.prepared", None)
    done = invoke("trace", f"--{library}", "file")
    assert done.exit_code == 1 and done.stderr.startswith(f"portbench: --{library} needs {library}; install it: pip ")
    assert list(tmp_path.iterdir()) == []


def test_a_profile_tells_all(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("profile", "--messages", 10, "--exact", "--folded", "stacks.txt", "--speedscope", "profile.json")
    assert done.exit_code == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "by each instruction" in done.stdout and "SRAM" in done.stdout
    assert (tmp_path / "stacks.txt").read_text().startswith("core 0;")
    assert json.loads((tmp_path / "profile.json").read_text())["profiles"][0]["name"] == "core 0"
