"""docs/adding-a-runtime.md, followed to the letter in a separate folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-runtime.md").read_text(encoding="utf-8")
LONGEST_S = 120


def said(command: list[str], folder: Path) -> str:
    """What a command prints; it has to succeed."""
    environment = os.environ | {
        "PORTBENCH_CATALOGUE": str(folder / "mine.toml"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PORTBENCH_OFFLINE": "1",
    }
    environment.pop("PYTEST_CURRENT_TEST", None)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_leads_to_a_runtime_of_ones_own(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (name,) = re.findall(r'^id = "(.*)"$', block, re.MULTILINE)
    (tmp_path / "mine.toml").write_text(block, encoding="utf-8")
    listed = json.loads(said([sys.executable, "-m", "portbench", "list", "--json"], tmp_path))
    assert name in [runtime["id"] for runtime in listed["runtimes"]]
    rows = said([sys.executable, "-m", "portbench", "run", "--runtime", name, "--runs", "1", "--dry-run"], tmp_path)
    assert f"{name} tuned" in rows or f"{name}-tuned" in rows
