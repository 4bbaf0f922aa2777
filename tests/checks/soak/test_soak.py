"""The soak itself: the same seed gives the same cycles, troubles are counted, and leftovers are seen."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.desk.faults import FaultKind, When
from portbench.runner.checks.check import Report, faults
from portbench.runner.checks.soak import check
from portbench.runner.checks.soak.check import Soak, SoakOptions
from portbench.runner.checks.soak.dead_images import DeadImage
from portbench.runner.checks.soak.leaks import left_behind, open_terminals, pass_over_others
from portbench.runner.checks.soak.plan import SPI_HZ, Deed, plan_cycle
from portbench.runner.checks.soak.record import Record


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.booleans(), st.integers(1, 1000))
def test_a_cycle_is_its_seeds(seed: int, number: int, console: bool, exchanges: int) -> None:
    cycle = plan_cycle(seed, number, console=console, exchanges=exchanges)
    assert cycle == plan_cycle(seed, number, console=console, exchanges=exchanges)
    assert cycle.dead is None or cycle.strike is None
    assert any(hz - 100_000 < cycle.spi_hz <= hz for hz in SPI_HZ)


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.booleans(), st.integers(1, 1000))
def test_nothing_waits_for_a_power_up_where_nobody_has_the_power(
    seed: int, number: int, console: bool, exchanges: int
) -> None:
    strike = plan_cycle(seed, number, console=console, exchanges=exchanges).strike
    for fault in () if strike is None else strike.faults:
        assert fault.when is not When.POWERED_US


@pytest.mark.parametrize("console", [False, True])
def test_every_kind_of_fault_comes(console: bool) -> None:
    needs_console = {
        FaultKind.BYTES_LOST,
        FaultKind.TYPED_LOST,
        FaultKind.CONSOLE_SILENT,
        FaultKind.PORT_RENAMED,
    }
    cycles = [plan_cycle(1, number, console=console, exchanges=20) for number in range(1000)]
    strikes = [cycle.strike for cycle in cycles if cycle.dead is None]
    kinds = Counter(fault.kind for strike in strikes if strike for fault in strike.faults)
    assert set(kinds) == set(FaultKind) - (set() if console else needs_console)
    assert {strike.deed for strike in strikes if strike} == {None, *Deed}
    assert min(kinds.values()) >= 10 and strikes.count(None) >= 100
    assert {cycle.dead for cycle in cycles} == {None, *DeadImage}


def test_cycles_ask_for_different_clocks_so_that_each_flashes() -> None:
    asked = [plan_cycle(1, number, console=False, exchanges=20).spi_hz for number in range(1000)]
    assert len(set(asked)) == 1000


def record(number: int, **more: object) -> Record:
    return Record(number, **{"fault": "power-lost", "struck": True, "status": "measured", **more})  # type: ignore[arg-type]


class Replay:
    """Takes the place of the worker processes."""

    def __init__(self, *records: Record) -> None:
        self._records = records

    def __call__(self, options: SoakOptions, runtime: str, root: Path, heard: Callable[[Record], None]) -> Replay:
        self._heard = heard
        return self

    def run(self) -> list[str]:
        for each in self._records:
            self._heard(each)
        return []


@pytest.mark.parametrize("trouble", ["hangs", "lost", "leaks"])
def test_one_trouble_fails_the_soak(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def soak(*records: Record) -> tuple[Soak, Report]:
        monkeypatch.setattr(check, "Workers", Replay(*records))
        made = Soak(lambda line: None, SoakOptions("ping_pong", cycles=len(records), reasons=True))
        return made, made.run("portbench-native")

    well = (record(1), record(2, status="failed", reason="run: no answer"))
    made, report = soak(*well)
    assert faults([report]) == [] and len(report.findings) == 2
    assert [(each.group, each.outcome) for each in report.findings] == [
        ("power-lost", "recovered"),
        ("power-lost", "failed"),
    ]
    assert "power-lost: 1 x run: no answer" in made.summary([report])
    made, report = soak(*well, record(3, **{trouble: ["something"]}))
    assert [line for line in faults([report]) if line.startswith("cycle 3 (power-lost): ") and "something" in line]
    titles = {"hangs": "hangs", "lost": "lost results", "leaks": "leaks"}
    assert f"{titles[trouble]}: 1" in made.summary([report])


def test_cycles_that_were_not_run_fail_the_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "Workers", Replay(record(0)))
    report = Soak(lambda line: None, SoakOptions("ping_pong", cycles=2)).run("portbench-native")
    assert faults([report]) == ["portbench-native: only 1 of 2 cycles were run"]


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


@pytest.mark.slow
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
