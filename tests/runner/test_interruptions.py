"""A bench ended in a hurry: one signal or five, or the terminal's window closed."""

import fcntl
import os
import pty
import signal
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.results import storage
from portbench.results.model import Status
from portbench.runner.jobs.run import PROJECT
from portbench.signals import Interruptions
from tests import patience
from tests.runner.test_run import HOSTED, LIMIT_S, Harness
from tests.soak.leaks import own_folders, processes_of

ROWS = ("--runtime=portbench-native", "--where=emulated", "--messages=20", "--runs=1000")


class Interrupted(Harness):
    """Everything that a bench makes is in separate folders."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder
        self.environment |= own_folders(folder)

    def left(self) -> list[str]:
        """Folders, and processes that were started with this environment."""
        found = [str(path) for name in ("b", "locks", "tmp") for path in (self.folder / name).iterdir()]
        return found + list(map(str, processes_of(self.folder)))


@pytest.fixture
def bench() -> Iterator[Interrupted]:
    with tempfile.TemporaryDirectory(prefix="pbi-") as folder:  # short, as sockets' names are
        yield Interrupted(Path(folder))


def test_only_the_first_signal_counts() -> None:
    now_s = [100.0]
    interruptions = Interruptions(lambda: now_s[0])
    interruptions.listen()
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        signal.raise_signal(signal.SIGTERM)
    now_s[0] += 0.1
    signal.raise_signal(signal.SIGINT)
    assert interruptions.came
    with pytest.raises(KeyboardInterrupt):  # should the first have been lost
        interruptions.check()
    now_s[0] += 10
    with pytest.raises(KeyboardInterrupt, match="SIGINT"):
        signal.raise_signal(signal.SIGINT)
    interruptions.ending()
    now_s[0] += 10
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.raise_signal(number)
    interruptions.restore()
    signal.raise_signal(signal.SIGINT)  # still nothing: the process is about to end


def test_what_is_ignored_stays_ignored_and_what_was_there_comes_back() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    before = signal.getsignal(signal.SIGINT)
    interruptions = Interruptions()
    interruptions.listen()
    signal.raise_signal(signal.SIGHUP)
    assert not interruptions.came and signal.getsignal(signal.SIGINT) is not before
    interruptions.restore()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("rows", "number", "times"),
    [
        pytest.param(ROWS, signal.SIGINT, 5, marks=pytest.mark.engine),
        pytest.param(ROWS, signal.SIGHUP, 5, marks=pytest.mark.engine),
        pytest.param((*HOSTED, "--messages=2000", "--runs=1000"), signal.SIGTERM, 1, marks=pytest.mark.slow),
    ],
)
def test_signals_in_a_row_end_a_bench_once(
    rows: tuple[str, ...], number: signal.Signals, times: int, bench: Interrupted
) -> None:
    with bench.start(*rows) as process:
        assert process.stdout is not None
        while " 2/1000] measured" not in (line := process.stdout.readline()):
            assert line
        for _ in range(times):
            process.send_signal(number)
        output, _ = patience.communicate(process, LIMIT_S)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "messages/s" in output  # the table of measured rows
    run = bench.stored()
    assert run.finished_utc is None and {row.status for row in run.rows} == {Status.MEASURED}
    assert storage.read(bench.results / "latest.json") == run
    assert bench.left() == []


@pytest.mark.engine
def test_a_closed_terminal_ends_a_bench(bench: Interrupted) -> None:
    window, terminal = pty.openpty()
    with patience.started(
        bench.command(*ROWS),
        cwd=PROJECT,
        env=bench.environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as process:
        os.close(terminal)
        said = b""
        while said.count(b"measured") < 2:
            said += os.read(window, 1000)
        os.close(window)
        assert process.wait(LIMIT_S) == 130
    run = bench.stored()
    assert len(run.rows) >= 2 and run.finished_utc is None
    assert bench.left() == []


def test_a_signal_between_two_rows_waits_for_the_next() -> None:
    interruptions = Interruptions()
    with interruptions.heard():
        pass
    interruptions._take(signal.SIGTERM, None)
    assert interruptions.came
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"), interruptions.heard():
        raise AssertionError("the row was begun")


def test_a_signal_in_a_row_ends_it_at_once() -> None:
    interruptions = Interruptions()
    with interruptions.heard():
        pass
    with pytest.raises(KeyboardInterrupt, match="SIGINT"), interruptions.heard():
        interruptions._take(signal.SIGINT, None)
        raise AssertionError("the row went on")
