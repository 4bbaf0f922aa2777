"""The REPL session, from whatever state an earlier one left."""

from collections.abc import Callable

import pytest

from portbench.boards import BoardError, ConsoleLost, Deadline, DeadlineExceeded
from portbench.boards.prompt import Prompt, ReplError
from portbench.boards.repl import Repl, identify
from tests.boards.usb.conftest import link_to
from tests.boards.usb.fake_board import FakeBoard

Boards = Callable[..., FakeBoard]


def session(board: FakeBoard, deadline: Deadline) -> Repl:
    return link_to(board).open_repl(deadline)


@pytest.mark.parametrize("half_open", [False, True])
def test_a_statement_runs_and_its_output_comes_back(boards: Boards, deadline: Deadline, half_open: bool) -> None:
    repl = session(boards(half_open=half_open), deadline)
    assert repl.execute("print(6 * 7)", deadline, "it") == "42\r\n"
    assert repl.execute("x = 5", deadline, "it") == ""
    assert repl.execute("print(x)", deadline, "it") == "5\r\n"
    repl.close()


def test_no_code_fills_whole_usb_packets() -> None:
    """MicroPython before 1.20 hangs on a transfer of a multiple of 64 bytes: the code and its Ctrl-D are one."""

    class Line:
        def __init__(self) -> None:
            self.written = b""
            self.answers = bytearray(b">R\x00OK>OK")

        def read(self, n: int = 1) -> bytes:
            answer = bytes(self.answers[:n])
            del self.answers[:n]
            return answer

        def write(self, data: bytes) -> int:
            self.written += data
            return len(data)

        def inWaiting(self) -> int:
            return len(self.answers)

    line = Line()
    prompt = Prompt(line, "a board")
    prompt.start("#" * 383)
    prompt.start("#" * 382)
    _, _, typed = line.written.partition(b"\x05A\x01")
    assert typed == b"#" * 383 + b"\n\x04" + b"#" * 382 + b"\x04"


def test_an_exception_on_the_board_is_one_line_here(boards: Boards, deadline: Deadline) -> None:
    repl = session(boards(), deadline)
    with pytest.raises(ReplError, match=r"^fake board: ZeroDivisionError: [a-z ]+$") as caught:
        repl.execute("1 // 0", deadline, "it")
    assert "ZeroDivisionError" in caught.value.traceback
    assert repl.execute("print(1)", deadline, "it") == "1\r\n"
    repl.close()


@pytest.mark.slow
def test_a_client_that_swallows_the_first_interrupts(boards: Boards, deadline: Deadline) -> None:
    repl = session(boards(deaf_to=5), deadline)
    repl.enter(deadline)
    repl.close()


def test_a_board_that_never_gives_a_prompt(boards: Boards) -> None:
    repl = session(boards(deaf_to=10_000), Deadline(20, "test"))
    short = Deadline(0.5, "row 1")
    with pytest.raises(DeadlineExceeded, match=r"row 1: still waiting for fake board to \w+ .* after 0.5 s"):
        repl.enter(short)
    repl.close()


def test_closing_leaves_the_friendly_prompt(boards: Boards, deadline: Deadline) -> None:
    board = boards()
    repl = session(board, deadline)
    repl.enter(deadline)
    repl.close()
    deadline.poll(lambda: board.typed.endswith(b"\x02"), 0.01, "Ctrl-B")


def test_files_go_both_ways(boards: Boards, deadline: Deadline) -> None:
    board = boards()
    repl = session(board, deadline)
    content = bytes(range(256)) * 9
    repl.write_file("a.bin", content, deadline)
    assert (board.root / "a.bin").read_bytes() == content
    assert repl.read_file("a.bin", deadline) == content
    repl.close()


def test_a_restart_ends_the_session(boards: Boards, deadline: Deadline) -> None:
    board = boards()
    repl = session(board, deadline)
    repl.execute_and_lose("import machine; machine.reset()", deadline)
    assert board.boots == 1
    with pytest.raises(ConsoleLost):
        repl.execute("1", deadline, "it")
    repl.close()


def test_a_soft_reset_forgets_variables(boards: Boards, deadline: Deadline) -> None:
    repl = session(boards(), deadline)
    repl.execute("x = 5", deadline, "it")
    repl.soft_reset(deadline)
    with pytest.raises(ReplError, match="NameError"):
        repl.execute("print(x)", deadline, "it")
    repl.close()


@pytest.mark.parametrize("runtime", ["micropython", "circuitpython"])
def test_what_the_runtime_is(boards: Boards, deadline: Deadline, runtime: str) -> None:
    repl = session(boards(runtime=runtime), deadline)
    found = identify(repl, deadline)
    assert (found.family, found.version, found.machine) == (runtime, "1.26.0", "W5500-EVB-Pico with RP2040")
    assert found.board_id == ("wiznet_w5500_evb_pico" if runtime == "circuitpython" else "W5500")
    repl.close()


def test_an_answer_that_is_none_is_refused(boards: Boards, deadline: Deadline, monkeypatch: pytest.MonkeyPatch) -> None:
    repl = session(boards(), deadline)
    monkeypatch.setattr(Repl, "execute", lambda *_: "noise\r\n")
    with pytest.raises(BoardError, match="asked what it is, it answered 'noise'"):
        identify(repl, deadline)
    repl.close()
