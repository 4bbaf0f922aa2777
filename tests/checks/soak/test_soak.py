"""The soak itself: the same seed gives the same cycles, what goes wrong is counted, and what is left is seen."""

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
from rich.console import Console

from portbench.boards.emulated.faults import FaultKind, When
from portbench.runner.checks.soak.foreign import Foreign
from portbench.runner.checks.soak.lane import Record
from portbench.runner.checks.soak.leaks import left_behind, open_terminals, pass_over_others
from portbench.runner.checks.soak.plan import SPI_HZ, Deed, lane_of, plan_cycle
from portbench.runner.checks.soak.report import Tally


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.booleans(), st.integers(1, 1000), st.booleans())
def test_a_cycle_is_its_seeds(seed: int, number: int, console: bool, exchanges: int, power: bool) -> None:
    cycle = plan_cycle(seed, number, console=console, exchanges=exchanges, power=power)
    assert cycle == plan_cycle(seed, number, console=console, exchanges=exchanges, power=power)
    assert cycle.foreign is None or cycle.strike is None
    assert any(hz - 100_000 < cycle.spi_hz <= hz for hz in SPI_HZ)


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.booleans(), st.integers(1, 1000))
def test_nothing_waits_for_a_power_up_where_nobody_has_the_power(
    seed: int, number: int, console: bool, exchanges: int
) -> None:
    strike = plan_cycle(seed, number, console=console, exchanges=exchanges, power=False).strike
    for fault in () if strike is None else strike.faults:
        assert not fault.next_power_up and fault.when is not When.POWERED_US


def test_all_lanes_get_cycles_whichever_worker_runs_them() -> None:
    assert {lane_of(1, number, 6) for number in range(0, 200, 2)} == set(range(6))


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("console", [False, True])
def test_every_kind_of_fault_comes(console: bool, power: bool) -> None:
    needs_console = {
        FaultKind.BYTES_LOST,
        FaultKind.TYPED_LOST,
        FaultKind.CONSOLE_SILENT,
        FaultKind.PORT_RENAMED,
    }
    cycles = [plan_cycle(1, number, console=console, exchanges=20, power=power) for number in range(1000)]
    strikes = [cycle.strike for cycle in cycles if cycle.foreign is None]
    kinds = Counter(fault.kind for strike in strikes if strike for fault in strike.faults)
    assert set(kinds) == set(FaultKind) - (set() if console else needs_console)
    assert {strike.deed for strike in strikes if strike} == {None, *Deed}
    assert min(kinds.values()) >= 10 and strikes.count(None) >= 100
    assert {cycle.foreign for cycle in cycles} == {None, *Foreign}


def test_cycles_ask_for_different_clocks_so_that_each_flashes() -> None:
    asked = [plan_cycle(1, number, console=False, exchanges=20).spi_hz for number in range(1000)]
    assert len(set(asked)) == 1000


def record(number: int, **more: object) -> Record:
    return Record(number, **{"fault": "power-lost", "struck": True, "status": "measured", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("trouble", ["hangs", "lost", "leaks"])
def test_one_trouble_fails_the_soak(trouble: str) -> None:
    tally = Tally()
    tally.add(record(1))
    tally.add(record(2, status="failed", reason="run: no answer"))
    assert tally.passed and tally.cycles == 2 and tally.by_fault["power-lost"]["recovered"] == 1
    tally.add(record(3, **{trouble: ["something"]}))
    assert not tally.passed
    with Path(os.devnull).open("w", encoding="utf-8") as file:
        console = Console(file=file, width=120, record=True)
        tally.show(console, reasons=True)
    assert "cycle 3 (power-lost): something" in console.export_text()


@pytest.mark.slow
def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    assert left_behind([tmp_path], set()) == []
    master, slave = os.openpty()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="lingerer")
    thread.start()
    (tmp_path / "forgotten").touch()
    try:
        found = left_behind([tmp_path], set())
        assert {line.split()[0] for line in found} == {"port", "process", "thread", "file"}
        assert os.ttyname(slave) in open_terminals()
        assert not any(line.startswith("process") for line in left_behind([tmp_path], {child.pid}))
    finally:
        release.set()
        thread.join()
        child.kill()
        child.communicate()
        os.close(master)
        os.close(slave)


def test_a_process_that_was_there_before_is_somebody_elses(tmp_path: Path) -> None:
    """Such as the one that multiprocessing starts once and keeps."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert [line.split()[0] for line in left_behind([tmp_path], set())] == ["process"]
        pass_over_others()
        assert left_behind([tmp_path], set()) == []
    finally:
        child.kill()
        child.communicate()
