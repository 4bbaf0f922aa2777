"""Headless Chromium for pages, driven by Playwright."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from filelock import FileLock

HERE: Final = Path(__file__).parent
_LIMIT_S: Final = 400

Look = Callable[..., dict[str, Any]]
"""Runs a script of this folder with arguments, and returns what it prints as JSON."""


@pytest.fixture(scope="session")
def look() -> Look:
    """Skips without Chromium, npm, or what package-lock.json pins."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium; install it: sudo apt-get install chromium")
    if shutil.which("npm") is None:
        pytest.skip("no npm; install Node.js 20 or later: sudo apt-get install nodejs npm")
    folder = HERE / "node_modules"
    with FileLock(HERE / "node_modules.lock"):
        installed, wanted = folder / ".package-lock.json", HERE / "package-lock.json"
        if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
            if done.returncode:
                pytest.skip(f"npm could not install what this test wants: {done.stderr.strip()[-200:]}")

    def run(script: str, *arguments: object) -> dict[str, Any]:
        command = ["node", str(HERE / script), chromium, *map(str, arguments)]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return run
