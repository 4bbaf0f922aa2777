"""Deadlines count the time that our processes had, and not that for which other people's kept them from running."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import Deadline
from portbench.boards.timing import SLOWEST, HostTime, Waits, host_time, waited
from portbench.errors import DeadlineExceeded


class Host:
    """A clock on the wall, and how long two processes have waited by then."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.waited = {"1": 7.0, "2": 0.0}
        self.time = HostTime(lambda: dict(self.waited), lambda: self.now_s)

    def passes(self, seconds: float, **waits_s: float) -> float:
        self.now_s += seconds
        for name, more_s in waits_s.items():
            self.waited[name[1:]] = self.waited.get(name[1:], 0.0) + more_s
        return self.time()


def test_without_others_all_time_counts() -> None:
    host = Host()
    assert [host.passes(1) for _ in range(3)] == [101, 102, 103]


def test_the_longest_wait_of_any_process_does_not_count() -> None:
    host = Host()
    assert host.passes(1, p1=0.5, p2=0.25) == pytest.approx(100.5)
    assert host.passes(1, p3=0.75) == pytest.approx(100.75)  # one that was started since


def test_a_wait_that_is_known_at_its_end_is_made_up_for_later() -> None:
    host = Host()
    began_s = host.time()
    for _ in range(10):
        host.passes(0.1)
    host.passes(0.5, p1=1.2)
    for _ in range(40):
        host.passes(0.1)
    assert host.time() - began_s == pytest.approx(5.5 - 1.2)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 50)), max_size=60))
def test_it_never_goes_back_nor_stands_still(steps: list[tuple[float, float]]) -> None:
    host = Host()
    before_s, began_s, wall_s = host.time(), host.time(), host.now_s
    for passed_s, waited_s in steps:
        now_s = host.passes(passed_s, p1=waited_s)
        assert now_s >= before_s
        before_s = now_s
    passed_s = host.now_s - wall_s
    assert passed_s / SLOWEST - 1e-6 <= before_s - began_s <= passed_s + 1e-6


def test_a_deadline_is_longer_beside_others_and_ends_all_the_same() -> None:
    host = Host()

    def starved(seconds: float) -> None:
        host.passes(seconds, p1=0.9 * seconds)

    deadline = Deadline(3, "test", clock=host.time, sleep=starved)
    with pytest.raises(DeadlineExceeded, match="still waiting for a board after 3 s"):
        deadline.poll(lambda: None, 0.5, "a board")
    assert 25 < host.now_s - 100 < 35


@pytest.fixture
def child() -> Iterator[Callable[[], str]]:
    command = "import sys; print(flush=True); sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline()
    yield lambda: str(process.pid)
    process.communicate()


LINUX = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux tells how long processes waited")


@LINUX
def test_the_system_tells_of_us_and_of_what_we_started(child: Callable[[], str]) -> None:
    found = waited()
    assert {str(os.getpid()), child()} <= set(found) and min(found.values()) >= 0
    assert host_time() <= host_time()


@LINUX
def test_a_stop_counts_as_a_wait(child: Callable[[], str]) -> None:
    now_s = 0.0
    waits, pid = Waits(lambda: now_s), child()
    os.kill(int(pid), signal.SIGSTOP)
    os.waitid(os.P_PID, int(pid), os.WSTOPPED)
    now_s = 1000.0
    stopped_s = waits()[pid]
    os.kill(int(pid), signal.SIGCONT)
    os.waitid(os.P_PID, int(pid), os.WCONTINUED)
    now_s = 5000.0
    assert stopped_s >= 1000 and waits()[pid] - stopped_s < 1000


@LINUX
def test_a_process_of_another_parent_is_included_on_request() -> None:
    waits, parent = Waits(), os.getppid()
    assert str(parent) not in waits()
    waits.include(parent)
    waits.include(parent)
    waits.exclude(parent)
    assert str(parent) in waits()
    waits.exclude(parent)
    assert str(parent) not in waits()
