"""`portbench run` from any folder."""

import importlib.metadata
import importlib.util
import json
from pathlib import Path

import pytest

from portbench.results import storage
from tests.runner.conftest import Invoke, Start

HOSTED = ("run", "--runtime=micropython-unix")
emulated = pytest.mark.skipif(
    importlib.util.find_spec("portbench_engine") is None, reason="the engine is not built; run: make build"
)


def test_a_dry_run_shows_the_rows_and_measures_none(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("run", "--runtime=wiznet-hardwired", "--profile", "tuned", "--runs", 2, "--dry-run")
    assert done.stdout.split() == ["wiznet-hardwired-tuned-ping_pong-1", "wiznet-hardwired-tuned-ping_pong-2"]
    (row,) = json.loads(
        invoke("run", "--runtime=micropython-unix", "--messages=7", "--runs=1", "--dry-run", "--json").stdout
    )
    assert (row["id"], row["runtime"], row["settings"]) == (
        "micropython-unix-ping_pong",
        "micropython-unix",
        {"messages": 7},
    )
    assert not any(tmp_path.iterdir())


def test_json_is_the_run_file_and_nothing_else(start: Start, empty: Path, tmp_path: Path) -> None:
    done = start(*HOSTED, "--messages=30", "--runs=2", f"--results-dir={tmp_path / 'elsewhere'}", "--json")
    assert done.returncode == 0, done.stderr
    run = storage.parse(done.stdout, Path("stdout"))
    assert [row.figures["messages_per_s"] > 0 for row in run.rows] == [True, True]
    assert done.stdout == (tmp_path / "elsewhere" / "latest.json").read_text()
    assert "[2/2] measured micropython-unix" in done.stderr and not any(empty.iterdir())


def test_a_named_board_that_is_not_there_is_told_once(invoke: Invoke) -> None:
    done = invoke("run", "--device", "usb:nothing", "--runtime", "portbench-native", "--runs", "3")
    assert done.exit_code == 1 and done.stderr.count("no board usb:nothing; plug it in") == 1, done.output
    assert done.stderr.endswith("stopped: every further row would fail for the same reason\n")
