"""Deadlines of the programs that tests start."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from portbench.boards import timing
from tests import patience


def test_a_program_without_an_end_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], text=True) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            patience.communicate(process, 0.1)
        assert process.wait() < 0


@pytest.mark.slow
def test_time_that_other_programs_take_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_clock", (os.getpid(), timing.HostTime(lambda: {"child": time.monotonic()})))
    done = patience.run([sys.executable, "-c", "import time; time.sleep(2); print('done')"], 1)
    assert (done.returncode, done.stdout) == (0, "done\n")
