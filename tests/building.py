"""Compilers of the committed images."""

import shutil
import subprocess

import pytest


def needs_compiler(compiler: str, *recorded: str, install: str = "sudo .ci/install-system-packages") -> None:
    """Skips a test of a rebuild without the compiler, or where it is not the one of each record."""
    if shutil.which(compiler) is None or shutil.which("make") is None:
        pytest.skip(f"{compiler} or make is not installed; install them with: {install}")
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    if set(recorded) != {said}:
        pytest.skip(f"it was built with {', '.join(sorted(set(recorded)))}, installed is {said}")
