"""Files on the board, proven by the board; and the user's own."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from portbench.boards import BoardError, BoardUnavailable, Deadline, DeadlineExceeded, Deployment
from portbench.boards.deploy import deploy_mpremote
from portbench.boards.usb import files as files_module
from portbench.boards.usb.board import DEPLOYERS, UsbBoard
from portbench.boards.usb.files import _below, deploy_circuitpython, deploy_rshell
from portbench.boards.usb.link import run_program
from portbench.errors import LibraryMissing
from tests.boards.usb.conftest import DEFINITION, link_to
from tests.boards.usb.fake_board import FakeBoard

Boards = Callable[..., FakeBoard]
FILES = {"main.py": b"print(1)\n", "lib/a/b.py": b"x = 1\n" * 300}


@pytest.mark.parametrize("runtime", ["micropython", "circuitpython"])
def test_files_arrive_in_folders(boards: Boards, deadline: Deadline, runtime: str) -> None:
    board = boards(runtime=runtime)
    link = link_to(board)
    repl = link.open_repl(deadline)
    for _ in range(2):  # the second time all is there already
        if runtime == "micropython":
            deploy_mpremote(repl, FILES, deadline)
        else:
            deploy_circuitpython(link, repl, FILES, deadline)
        assert {name: (board.root / name).read_bytes() for name in FILES} == FILES
    repl.close()


@pytest.mark.parametrize("runtime", ["micropython", "circuitpython"])
def test_a_file_that_reads_back_otherwise_is_named(boards: Boards, deadline: Deadline, runtime: str) -> None:
    says = r"files differ from those written: lib/a/b.py reads back as [0-9a-f]{16}, not"
    with usb_board(boards(runtime=runtime, corrupts=True)) as board:
        with pytest.raises(BoardError, match=says):
            board.deploy(Deployment(FILES, runtime), deadline)
        with pytest.raises(BoardError, match="nothing was deployed"):
            board.run(deadline)


def test_only_what_differs_is_written(boards: Boards, deadline: Deadline, monkeypatch: pytest.MonkeyPatch) -> None:
    board = boards(runtime="circuitpython")
    link = link_to(board)
    repl = link.open_repl(deadline)
    steps: list[object] = []
    monkeypatch.setattr(files_module, "sync_folder", steps.append)
    deploy_circuitpython(link, repl, FILES, deadline, steps.append)
    assert steps == [board.root, deadline, board.root / "lib/a", deadline]
    deploy_circuitpython(link, repl, FILES | {"main.py": b"print(2)\n"}, deadline, steps.append)
    assert steps[4:] == [board.root, deadline]
    monkeypatch.setattr(files_module, "write_file", Mock(side_effect=OSError(30, "Read-only file system")))
    with pytest.raises(BoardError, match=r"is read-only: its file system is damaged or boot.py took it"):
        deploy_circuitpython(link, repl, FILES, deadline)
    repl.close()


def test_a_folder_that_is_a_file_is_the_boards_refusal(boards: Boards, deadline: Deadline) -> None:
    board = boards()
    (board.root / "lib").write_bytes(b"")
    repl = link_to(board).open_repl(deadline)
    with pytest.raises(BoardError, match=r"fake board: .*(while copying files|refused lib/a/b.py)"):
        deploy_mpremote(repl, FILES, deadline)
    repl.close()


def test_rshell_gets_the_free_port_and_all_files_in_one_run(
    boards: Boards, monkeypatch: pytest.MonkeyPatch, deadline: Deadline
) -> None:
    board = boards()
    repl, lines = link_to(board).open_repl(deadline), list[str]()

    def program(command: list[str], within: Deadline, waiting_for: str) -> subprocess.CompletedProcess[str]:
        assert not repl.wire.is_open and within is deadline and waiting_for == "rshell to copy 2 files to fake board"
        words = [sys.executable, "-m", "rshell.main", "--quiet", "--nocolor", "-p", board.port, "-f"]
        assert command[:-1] == words
        for line in Path(command[-1]).read_text().splitlines():
            verb, *paths = line.split()
            lines.append(f"{verb} {paths[-1]}")
            assert verb == "mkdir" or Path(paths[0]).read_bytes() == FILES[paths[-1].removeprefix("/pyboard/")]
        return subprocess.CompletedProcess(command, 0, "Copying", "")

    monkeypatch.setattr(files_module, "run_program", program)
    monkeypatch.setattr(LibraryMissing, "unless_found", Mock())
    deploy_rshell(repl, FILES, deadline)
    assert lines == [
        "cp /pyboard/main.py",
        *(f"mkdir /pyboard/{each}" for each in ("lib", "lib/a")),
        "cp /pyboard/lib/a/b.py",
    ]
    copies = Mock()
    monkeypatch.setitem(DEPLOYERS, "rshell", copies)
    with usb_board(boards(), deployer="rshell") as other, pytest.raises(BoardError, match=r"main\.py is not there"):
        other.deploy(Deployment(FILES, "micropython"), deadline)
    assert copies.call_args.args[1:] == (FILES, deadline)
    repl.wire.port = "socket://lab:1"
    with pytest.raises(
        BoardUnavailable, match=r"^socket://lab:1: rshell knows no network ports; use --deploy mpremote"
    ):
        deploy_rshell(repl, FILES, deadline)


def test_rshell_that_is_not_installed_is_one_line(
    boards: Boards, monkeypatch: pytest.MonkeyPatch, deadline: Deadline
) -> None:
    repl = link_to(boards()).open_repl(deadline)
    monkeypatch.setitem(sys.modules, "rshell", None)
    with pytest.raises(LibraryMissing, match=r"^--deploy rshell needs rshell; install it: pip install .*\[rshell\]'$"):
        deploy_rshell(repl, FILES, deadline)
    repl.close()


def test_a_program_that_hangs_ends() -> None:
    with pytest.raises(DeadlineExceeded, match=r"^test: still waiting for it after 0.2 s$"):
        run_program([sys.executable, "-c", "import signal; signal.pause()"], Deadline(0.2, "test"), "it")
    code = "import sys; sys.stdout.buffer.write(b'a\\xff'); sys.exit('b')"
    done = run_program([sys.executable, "-c", code], Deadline(60, "test"), "it")
    assert (done.returncode, done.stdout, done.stderr) == (1, "a\ufffd", "b\n")


def usb_board(board: FakeBoard, **more: Any) -> UsbBoard:
    return UsbBoard(DEFINITION, bus=board, poll_s=0.01, name="fake board", **more)


@pytest.mark.parametrize("runtime", ["micropython", "circuitpython"])
def test_the_users_files_are_saved_first(boards: Boards, deadline: Deadline, runtime: str, tmp_path: Path) -> None:
    fake = boards(runtime=runtime)
    for name in (".hidden", "INDEX.HTM"):  # the system's
        (fake.root / name).touch()
    mine = {
        "main.py": b"print('mine')\n",
        "lib/main.py": b'print("PORTBENCH", 1)\n',
        "data/x.bin": b"\0\xff" * 700,
        "it's.txt": b"quoted",
    }
    for name, content in mine.items():
        (fake.root / name).parent.mkdir(exist_ok=True)
        (fake.root / name).write_bytes(content)
    log = list[str]()
    with usb_board(fake, save_files_to=tmp_path, log=log.append) as board:
        board.deploy(Deployment(FILES, runtime), deadline)
        assert log == [f"files: saved to {board.saved_files}"]
        assert board.saved_files is not None and board.saved_files.parent == tmp_path / "E6605838833A552C"
        assert re.fullmatch(r"\d{8}T\d{6}\.\d{6}Z", board.saved_files.name)
        saved = {
            str(path.relative_to(board.saved_files)): path for path in board.saved_files.rglob("*") if path.is_file()
        }
        assert {name: path.read_bytes() for name, path in saved.items()} == mine
        assert (fake.root / "main.py").read_bytes() == FILES["main.py"]
        assert fake.typed.endswith(b"\x02") and board._repl is None  # the port is free, at the friendly prompt


def test_our_own_files_are_not_the_users(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    fake = boards()
    for name in ("main.py", "code.py"):
        (fake.root / name).write_bytes(b'RESULT = {}\nprint("PORTBENCH", 1)\n')
    (fake.root / "portbench_config.json").write_bytes(b"{}")
    with usb_board(fake, save_files_to=tmp_path) as board:
        board.deploy(Deployment(FILES, "micropython"), deadline)
        assert board.saved_files is None
    assert list(tmp_path.iterdir()) == []


def test_a_board_whose_files_cannot_be_saved_is_not_written_to(
    boards: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.boards.usb.board._SAVE_S", 0.3)
    fake = boards(deaf_to=1_000_000)
    with (
        usb_board(fake, save_files_to=tmp_path, device="id:E6605838833A552C") as board,
        pytest.raises(
            BoardError, match=r"cannot be saved, so nothing was written: .*; to go on without them, hold BOOTSEL"
        ),
    ):
        board.deploy(Deployment(FILES, "micropython"), Deadline(10, "test"))
    assert list(fake.root.iterdir()) == []


def test_names_from_a_board_stay_below_the_folder(tmp_path: Path) -> None:
    assert _below(tmp_path, "../../etc/x") == _below(tmp_path, "etc\\..\\x") == tmp_path / "etc" / "x"
    with pytest.raises(BoardError, match="cannot be saved"):
        _below(tmp_path, "..")
