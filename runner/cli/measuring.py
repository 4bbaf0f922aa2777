"""Measures one image in a process of its own and gives its run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from portbench.errors import PortbenchError
from portbench.results.model import RunFile, Status
from portbench.results.storage import parse
from portbench.runner.cli.options import as_arguments


def measure_image(image: Path, options: Mapping[str, Any]) -> RunFile:
    """All rows of `image`; `options` as `runner.options.read_options` takes them.

    Raises PortbenchError. What the bench tells goes to standard error.
    """
    command = [sys.executable, "-m", "portbench", "run", "--json", f"--runtime={image}", *as_arguments(options)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise PortbenchError(f"{image}: cannot be measured ({error.strerror})") from error
    if not done.stdout:
        raise PortbenchError(f"{image}: was not measured; the reason is above")
    run = parse(done.stdout, image)
    if failed := next((row for row in run.rows if row.status is not Status.MEASURED), None):
        raise PortbenchError(f"{image}: {failed.workload} {failed.profile or ''}: {failed.reason}")
    return run
