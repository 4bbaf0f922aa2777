"""Real firmware on emulated boards, driven through exactly what a real board gives: a serial port and a drive."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from portbench.boards import Deployment
from portbench.boards.desk.board import DeskBoard
from portbench.boards.desk.started import StartedDesk
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.bus import EmulatedBus
from portbench.boards.usb.discovery import listing
from portbench.boards.usb.link import Link
from portbench.errors import BoardGone
from portbench.firmware.identify import Uf2File
from tests import patience
from tests.boards.emulated.conftest import MESSAGES, client, measure, within
from tests.boards.usb.conftest import DEFINITION
from tests.conftest import Image

pytestmark = pytest.mark.engine
DEAF = b"""
import time
while True:
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture
def board(root: Path) -> Iterator[DeskBoard]:
    with DeskBoard.started(DEFINITION) as made:
        yield made
    assert list(root.iterdir()) == []


def test_no_wait_outlasts_the_process_of_a_board_that_somebody_else_started(root: Path) -> None:
    with closing(StartedDesk(DEFINITION.id, "{}", "desk")) as desk:
        desk.wait()
        within().poll(EmulatedBus().devices, 0.02, "USB to enumerate")
        with DeskBoard(DEFINITION, device="usb:desk") as board:
            pid = board.pid
            assert pid is not None
            psutil.Process(pid).kill()
            assert desk.ended()
            with pytest.raises(BoardGone, match=r"the emulated board's process ended$"):
                board.link.device()


def test_the_native_client_reports_to_its_server(board: DeskBoard, image: Image) -> None:
    board.flash(Uf2File.read(image("portbench-native")), within())
    board.deploy(Deployment({}, "native"), within())
    board.serve("ping_pong", {}, within())
    output = board.run(within())
    assert output.result is None
    (session,) = output.sessions
    assert session.report is not None and session.report["messages"] == session.exchanges == 1000


def test_from_runtime_to_runtime(board: DeskBoard, image: Image) -> None:
    for entry in ("micropython-1.26.0", "circuitpython-9.1.4", "wiznet-hardwired"):
        board.flash(Uf2File.read(image(entry)), within())
        board.wait_console(within())
        assert entry.startswith("circuitpython") == (board.identify(within()).family == "circuitpython")


@pytest.mark.parametrize(
    ("entry", "family", "script"),
    [("micropython-1.26.0", "micropython", "main.py"), ("circuitpython-9.1.4", "circuitpython", "code.py")],
)
def test_out_of_a_client_that_hangs_and_ignores_ctrl_c(
    board: DeskBoard, image: Image, entry: str, family: str, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MicroPython needs a power switch, CircuitPython takes the 1200-baud touch."""
    monkeypatch.setattr("portbench.boards.usb.flash._REPL_S", 3)
    log: list[str] = []
    board.flash(Uf2File.read(image(entry)), within())
    board.wait_console(within())
    board.deploy(Deployment({script: DEAF}, family), within())
    board.reset(within())
    board.link.wait_port(within())
    board.link.log = log.append
    board.flash(Uf2File.read(image(entry)), within())
    assert f"boot loader: by {'power' if family == 'micropython' else '1200-baud touch'}" in log


def test_a_board_without_a_power_switch(board: DeskBoard, image: Image) -> None:
    """Like silicon, it is found on the bus, restarted by its own command and followed to its new port.

    Not with MicroPython's lwIP: its interrupt clears all of S0_IR, SENDOK included, and a sender that waits for that
    does so for ever. The moment of a restart by command, which is the host's to choose, decides whether they meet.
    """
    board.flash(Uf2File.read(image("wiznet-hardwired")), within())
    board.wait_console(within())
    script = client(board, "wiznet")
    board.serve("ping_pong", {}, within())
    board.link.power = None
    board.release_port()
    assert board._lock is not None
    board._lock.release()
    serial_number = board.link.wait_port(within()).own_serial
    with UsbBoard(DEFINITION, device=f"id:{serial_number}", bus=EmulatedBus(), poll_s=0.02) as other:
        assert other.where == "emulated"
        before = other.link.wait_port(within())
        other.deploy(script, within())
        output = other.run(within())
        assert output.result is not None and output.result["messages"] == MESSAGES
        assert other.link.wait_port(within()).enumeration != before.enumeration


def tool(*command: str) -> str:
    done = patience.run([sys.executable, "-m", *command], 60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mpremote_and_rshell_themselves(board: DeskBoard, image: Image, tmp_path: Path) -> None:
    board.flash(Uf2File.read(image("micropython-1.26.0")), within())
    link: Link = board.link
    port = link.wait_port(within()).port
    assert port is not None
    script = tmp_path / "hello.py"
    script.write_text("print('hello')\n")
    mpremote = ("mpremote", "connect", port)
    assert tool(*mpremote, "exec", "print(6 * 7)") == "42\n"
    assert tool(*mpremote, "run", str(script)) == "hello\n"
    tool(*mpremote, "cp", str(script), ":")
    assert "hello.py" in tool(*mpremote, "ls")
    tool(*mpremote, "cp", ":hello.py", str(tmp_path / "back.py"))
    assert (tmp_path / "back.py").read_bytes() == script.read_bytes()
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "from_the_pc.py").write_text("print('from the PC')\n")
    assert tool(*mpremote, "mount", str(mounted), "exec", "import from_the_pc").endswith("from the PC\n")

    rshell = ("rshell.main", "--quiet", "--nocolor", "-p", port)
    tool(*rshell, "cp", str(script), "/pyboard/again.py")
    assert "again.py" in tool(*rshell, "ls", "/pyboard")

    before = link.wait_port(within())
    tool(*mpremote, "reset")
    after = link.wait_port(within(), after=before)
    assert after.port is not None
    tool("mpremote", "connect", after.port, "bootloader")
    link.wait_device(lambda device: device.volume is not None, within(), "the boot loader's drive")


def test_rshell_deploys(board: DeskBoard, image: Image) -> None:
    board._deployer = "rshell"
    output = measure(board, image("micropython-1.26.0"), "micropython")
    assert output.result is not None and output.result["messages"] == MESSAGES


def test_the_listing_shows_it(board: DeskBoard, image: Image) -> None:
    (found,) = listing(EmulatedBus())
    assert (found.state, found.board_id, found.device.emulated) == ("bootloader", "RPI-RP2", True)
    board.flash(Uf2File.read(image("micropython-1.26.0")), within())
    board.wait_console(within())
    (found,) = listing(EmulatedBus())
    assert (found.state, found.runtime, found.version) == ("console", "micropython", "1.26.0")


def test_the_process_ends_with_its_owner(tmp_path: Path) -> None:
    code = (
        "import os, sys; from portbench.boards import board_definition\n"
        "from portbench.boards.desk.board import DeskBoard\n"
        "board = DeskBoard.started(board_definition('W5500_EVB_PICO')); print(board.pid, flush=True)\n"
        "sys.stdin.read(); os._exit(9)"
    )
    environment = os.environ | {RUNTIME_DIR_VARIABLE: str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout is not None
        child = psutil.Process(int(owner.stdout.readline()))
        owner.communicate("")
    assert patience.still_alive([child], 10) == []
    assert list(tmp_path.iterdir()) == []
