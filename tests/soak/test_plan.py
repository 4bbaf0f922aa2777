"""A cycle is its seed's, every kind of fault comes, and leftovers are seen."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.desk.faults import Fault, FaultKind, When
from tests.dead_images import DeadImage
from tests.soak.leaks import Leaks
from tests.soak.plan import SPI_HZ, Deed, plan_cycle


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.booleans(), st.integers(1, 1000))
def test_a_cycle_is_its_seeds(seed: int, number: int, console: bool, exchanges: int) -> None:
    cycle = plan_cycle(seed, number, console=console, exchanges=exchanges)
    assert cycle == plan_cycle(seed, number, console=console, exchanges=exchanges)
    assert any(hz - 100_000 < cycle.spi_hz <= hz for hz in SPI_HZ)
    what = cycle.strike and cycle.strike.what
    assert not isinstance(what, Fault) or what.when is not When.POWERED_US, "a board may keep its power"


@pytest.mark.parametrize("console", [False, True])
def test_every_kind_of_fault_comes(console: bool) -> None:
    needs_console = {FaultKind.BYTES_LOST, FaultKind.TYPED_LOST, FaultKind.CONSOLE_SILENT, FaultKind.PORT_RENAMED}
    cycles = [plan_cycle(1, number, console=console, exchanges=20) for number in range(1000)]
    assert len({cycle.spi_hz for cycle in cycles}) == 1000, "each has to flash"
    strikes = [cycle.strike for cycle in cycles]
    kinds = Counter(strike.kind for strike in strikes if strike)
    assert set(kinds) == {*FaultKind, *Deed, *DeadImage} - (set() if console else needs_console)
    assert min(kinds.values()) >= 10 and strikes.count(None) >= 100


@pytest.mark.slow
def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    leaks = Leaks()
    assert leaks.found([tmp_path]) == []
    master, slave = os.openpty()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="lingerer")
    thread.start()
    (tmp_path / "forgotten").touch()
    try:
        found = leaks.found([tmp_path])
        assert {line.split()[0] for line in found} == {"port", "process", "thread", "file"}
        assert f"port {os.ttyname(slave)}" in leaks.terminals()
        assert not any(line.startswith("process") for line in leaks.found([tmp_path], {child.pid}))
        assert Leaks().found([]) == [], "these were there before"
    finally:
        release.set()
        thread.join()
        child.kill()
        child.communicate()
        os.close(master)
        os.close(slave)
