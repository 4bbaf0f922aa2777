"""workloads/README.md, followed to the letter in a separate folder: measured on hosted MicroPython."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "workloads" / "README.md").read_text(encoding="utf-8")
LONGEST_S = 240


def test_the_page_leads_to_a_workload_of_ones_own(tmp_path: Path) -> None:
    script, body = (
        re.sub(r"^    ", "", block, flags=re.MULTILINE)
        for block in re.findall(r"^    ```python\n(.*?)^    ```", PAGE, re.DOTALL | re.MULTILINE)
    )
    folder = tmp_path / "mine" / "count"
    folder.mkdir(parents=True)
    (folder / "workload.py").write_text(script, encoding="utf-8")
    (folder / "micropython.py").write_text(body, encoding="utf-8")
    command = [sys.executable, "-m", "portbench", "run", "--workload", "count", "--runtime", "micropython-unix"]
    done = subprocess.run(
        [*command, "--setting=passes=500", "--runs", "1", "--results-dir", str(tmp_path / "results")],
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
            "PORTBENCH_WORKLOADS": str(folder.parent),
            "PYTHONPATH": str(PROJECT),
        },
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads((tmp_path / "results" / "latest.json").read_text(encoding="utf-8"))["rows"]
    assert row["workload"] == "count" and row["settings"] == {"passes": 500}
    assert row["figures"]["passes_per_s"] == 500 * 1e6 / row["figures"]["total_us"]
