"""The memory of a row with every probe on stays small, however long the row is."""

import sys
from pathlib import Path

import pytest

from tests import patience

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MEASURE = """
import sys
from portbench.boards import Deadline
from portbench.boards.emulated.trace import exchange_window
from portbench.runner.cli.row import replayed_row

row = replayed_row("portbench-native", {"workload": sys.argv[1:2], "setting": sys.argv[2:]})
measured = row.row()
assert measured.attribution is not None and len(list(row.what_if(measured))) >= 3
if row.figures.sessions[0].received_us:
    assert row.waveform() is not None
    window = exchange_window(row.figures.sessions, 2)
    assert row.replay.record(row.figures, window, Deadline(600, "test"), pc_sample_cycles=100).records
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
MIB = 1024
LIMIT_KIB = 128 * MIB


def peak_kib(workload: str, setting: str) -> int:
    """The most memory of a process that attributes, changes, draws, traces and samples a row of the native client."""
    done = patience.run([sys.executable, "-c", MEASURE, workload, setting], 600)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.timeout(900)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the most memory of a process")
def test_a_long_row_with_every_probe_on_takes_little_memory() -> None:
    """1000 messages of the native client are 2.8 million changes; as lists in memory they took 300 MB."""
    long = peak_kib("ping_pong", "messages=100")
    assert long < LIMIT_KIB
    assert peak_kib("ping_pong", "messages=200") < long + 8 * MIB
