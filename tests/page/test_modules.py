"""The playground's modules without a browser."""

import subprocess
from pathlib import Path

import pytest


@pytest.mark.slow
def test_modules(packages: None) -> None:
    command = ["node", "--test", "modules.mjs"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
