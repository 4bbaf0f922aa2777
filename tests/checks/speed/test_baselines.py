"""Other emulators: a missing one is one line, and their output is checked."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import Deadline
from portbench.errors import PortbenchError
from portbench.runner.checks.speed.baselines import Baseline, rp2040js, rp2040py

IMAGE = Path("image.uf2")


def limit() -> Deadline:
    return Deadline(20, "baseline")


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands in for child processes; `answers` are taken one by one, `commands` lists the started ones."""
    state: dict[str, Any] = {"answers": [], "commands": []}

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        state["commands"].append(command)
        answer = state["answers"].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return subprocess.CompletedProcess(command, *answer)

    monkeypatch.setattr("subprocess.run", run)
    return state


def test_rates_are_per_second() -> None:
    assert Baseline("x", 100, 4.0).iterations_per_s == 25


def test_takes_the_childs_figure(child: dict[str, Any]) -> None:
    child["answers"] = [(0, '{"seconds": 2.5}', "")]
    baseline = rp2040py(IMAGE, limit())
    assert baseline.cpu_s == 2.5 and baseline.name.startswith("rp2040py 0.")
    assert child["commands"][0][-2:] == ["image.uf2", str(baseline.iterations)]


@pytest.mark.parametrize("output", ["", "nonsense", '{"second": 1}', '{"seconds": null}', "[]"])
def test_a_child_without_a_figure_is_one_line(output: str, child: dict[str, Any]) -> None:
    child["answers"] = [(1, output, "Traceback\nValueError: broken\n")]
    with pytest.raises(PortbenchError, match=r"^rp2040py gave no figure \(ValueError: broken\)$"):
        rp2040py(IMAGE, limit())


def test_a_child_that_hangs_is_one_line(child: dict[str, Any]) -> None:
    child["answers"] = [subprocess.TimeoutExpired("python", 20)]
    with pytest.raises(PortbenchError, match="had not ended the loop after 20 s"):
        rp2040py(IMAGE, limit())


def test_names_the_tool_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "npm" else f"/bin/{name}")
    with pytest.raises(PortbenchError, match=r"^rp2040js needs npm, which is not installed$"):
        rp2040js(IMAGE, limit())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PortbenchError, match=r"rp2040py is not installed; run: .* -m pip install rp2040py"):
        rp2040py(IMAGE, limit())


@pytest.mark.parametrize(
    ("install", "line"),
    [
        ((1, "", "npm error network\n"), r"npm could not install rp2040js@\S+ \(npm error network\)"),
        (subprocess.TimeoutExpired("npm", 60), "npm was still installing"),
    ],
)
def test_npm_without_a_network_is_one_line(
    install: Any, line: str, child: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    child["answers"] = [install]
    with pytest.raises(PortbenchError, match=line):
        rp2040js(IMAGE, limit())


@pytest.mark.engine
def test_rp2040js_runs_from_where_its_package_is(child: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    child["answers"] = [(0, "", ""), (0, '{"seconds": 0.5}', "")]
    assert rp2040js(IMAGE, limit()).iterations_per_s == 200_000
    install, run = child["commands"]
    assert Path(run[1]).parent == Path(install[install.index("--prefix") + 1])
    assert not Path(run[1]).exists()  # the folder is gone
