"""Programs that tests wait for: a deadline does not count the time that other programs took from them."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from portbench.boards import Deadline
from portbench.boards.timing import counting

_LOOK_S: Final = 1.0


def communicate(process: subprocess.Popen[str], limit_s: float) -> tuple[str, str]:
    """Communicate with the process. Kills it at the deadline and raises TimeoutExpired."""
    deadline = Deadline(limit_s, "test")
    while True:
        try:
            return process.communicate(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            if deadline.expired:
                process.kill()
                raise


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """The program, which is killed at the end of the block if it runs then. Its pipes are text."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def run(command: Sequence[str | Path], limit_s: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Call `subprocess.run`, with both outputs captured as text."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        output, errors = communicate(process, limit_s)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def script(text: str, limit_s: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run bash, with both outputs as one. At the deadline, kills all that the script started, and raises."""
    process = subprocess.Popen(
        ["bash", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **options,
    )
    try:
        said, _ = communicate(process, limit_s)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return subprocess.CompletedProcess(process.args, process.returncode, said, "")


def still_alive(processes: Sequence[psutil.Process], limit_s: float) -> list[psutil.Process]:
    """Wait for the end of processes, which need not be ours any more. Returns those that miss the deadline."""
    alive = list(processes)
    with counting(*(process.pid for process in processes)):
        deadline = Deadline(limit_s, "test")
        while alive and not deadline.expired:
            alive = psutil.wait_procs(alive, _LOOK_S)[1]
    return alive
