"""The GitHub Action: its shell steps as GitHub runs them, and the workflow that the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.workloads import workload
from tests.cli.test_compare import QUICK, W5500_WRITE, WAITS
from tests.slowed import slowed

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with labgrid")

ROOT = Path(__file__).parents[2]
needs_command = pytest.mark.skipif(
    shutil.which("portbench") is None and not (Path(sys.executable).parent / "portbench").exists(),
    reason="portbench is not installed as a command; run: make build",
)


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def filled(text: str, inputs: dict[str, str]) -> str:
    """As GitHub puts inputs in."""
    given = {name: about.get("default", "") for name, about in action()["inputs"].items()} | inputs
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], text)


def run_step(name: str, inputs: dict[str, str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Its status and the job's summary."""
    (step,) = (each for each in action()["runs"]["steps"] if each["name"] == name)
    assert step["shell"] == "bash"
    summary = folder / "summary.md"
    given = {variable: filled(value, inputs) for variable, value in step["env"].items()}
    path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=environment | given | {"GITHUB_STEP_SUMMARY": str(summary), "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, summary.read_text(encoding="utf-8") if summary.exists() else done.stderr


@pytest.mark.engine
@pytest.mark.slow
@needs_command
def test_a_slower_image_fails_the_job_and_is_in_its_summary(tmp_path: Path, environment: dict[str, str]) -> None:
    good = tmp_path / "main" / "firmware.uf2"
    good.parent.mkdir()
    shutil.copy(workload("ping_pong").folder / "native.uf2", good)
    slowed(good, tmp_path / "pr" / "firmware.uf2", W5500_WRITE, WAITS)
    options = action()["inputs"]["options"]["default"] + " --messages=50"
    inputs = {"firmware": "pr/firmware.uf2", "baseline": "main/firmware.uf2", "options": options}
    status, summary = run_step("Compare", inputs, tmp_path, environment)
    assert status == 1, summary
    head, empty, *table = summary.splitlines()
    assert head == "### portbench: `pr/firmware.uf2` beside `main/firmware.uf2`" and empty == ""
    assert len(table) == 3 and all(line.startswith("|") and line.endswith("|") for line in table)
    assert len({line.count("|") for line in table}) == 1 and "SLOWER than 2% allows" in table[-1]
    (tmp_path / "summary.md").unlink()
    status, summary = run_step("Compare", inputs | {"fail-if-slower": "9%"}, tmp_path, environment)
    assert status == 0 and "slower" in summary and "SLOWER" not in summary


@needs_command
def test_an_image_that_is_not_there_fails_the_job(tmp_path: Path, environment: dict[str, str]) -> None:
    inputs = {"firmware": "nothing.uf2", "baseline": "nothing.uf2", "options": " ".join(QUICK)}
    assert run_step("Compare", inputs, tmp_path, environment)[0] == 1


def test_the_workflow_of_the_page_gives_what_the_action_takes() -> None:
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    (workflow,) = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    (given,) = (step["with"] for step in workflow["jobs"]["speed"]["steps"] if "portbench" in step.get("uses", ""))
    known = action()["inputs"]
    assert set(given) <= set(known) and {name for name, about in known.items() if about.get("required")} <= set(given)
    assert action()["runs"]["using"] == "composite"
