"""The board that tests get: it repeats itself to the picosecond, and reports the output that came instead."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import dpkt
import pytest

from portbench.boards import BoardError
from portbench.errors import PortbenchError, UnknownName
from portbench.firmware.catalogue import Family
from portbench.testing import Board, NothingCame
from portbench.testing import board as board_module
from tests.conftest import Image
from tests.dead_images import PROGRAMS, DeadImage, banner, build
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine
Make = Callable[..., Board]
DATA_ECHO = """
import usb_cdc
print("ready")
while True:
    usb_cdc.data.write(usb_cdc.data.read(1).upper())
"""


def dead(foreign: DeadImage) -> bytes:
    return build(PROGRAMS[foreign], banner(Family.MICROPYTHON))


def counted(board: Board) -> tuple[float, list[tuple[float, bool, bytes]]]:
    """The native client's first three numbers."""
    board.flash(NATIVE_IMAGE)
    server = board.listen(5000).accept()
    server.expect(b"1")
    server.send(b"2")
    server.expect(b"3")
    return board.time_us, [(frame.time_us, frame.to_board, frame.data) for frame in board.frames]


def test_two_boards_see_the_same_times(make_emulated_board: Make) -> None:
    first, second = counted(make_emulated_board()), counted(make_emulated_board())
    assert first == second and len(first[1]) > 10


def test_frames_are_decoded_and_kept_for_wireshark(emulated_board: Board, tmp_path: Path) -> None:
    counted(emulated_board)
    asked = next(frame for frame in emulated_board.frames if frame.layer(dpkt.udp.UDP))
    assert asked.layer(dpkt.udp.UDP).dport == 67 and not asked.to_board
    assert emulated_board.address == "192.168.50.100"
    emulated_board.save_pcap(tmp_path / "board.pcap")
    with (tmp_path / "board.pcap").open("rb") as file:
        read = list(dpkt.pcap.Reader(file))
    assert [data for _, data in read] == [frame.data for frame in emulated_board.frames]


def test_a_frame_is_waited_for(emulated_board: Board) -> None:
    emulated_board.flash(NATIVE_IMAGE)
    found = emulated_board.expect_frame(lambda frame: frame.layer(dpkt.arp.ARP), what="a question by ARP")
    assert found.time_us <= emulated_board.time_us
    with pytest.raises(NothingCame, match=r"an IPv6 frame did not come within 0\.5 s of simulated time"):
        emulated_board.expect_frame(lambda frame: frame.layer(dpkt.ip6.IP6), 0.5, "an IPv6 frame")


def test_power_ends_connections_and_a_port_that_listens_stays(emulated_board: Board) -> None:
    emulated_board.flash(NATIVE_IMAGE)
    port = emulated_board.listen(5000)
    first = port.accept()
    emulated_board.pull_power()
    with pytest.raises(NothingCame, match="the board is off"):
        first.expect(b"never", within_s=1)
    before_us = emulated_board.time_us
    emulated_board.power_up()
    port.accept().expect(b"1")
    assert first.closed and first.reset and emulated_board.time_us > before_us
    with pytest.raises(NothingCame, match="is gone, and takes nothing more"):
        first.send(b"2")


def test_a_cable_that_is_out_stays_out(emulated_board: Board) -> None:
    emulated_board.unplug_cable()
    emulated_board.flash(NATIVE_IMAGE)
    with pytest.raises(NothingCame, match="a connection to port 5000 of the simulated PC did not come within 4 s"):
        emulated_board.listen(5000).accept(within_s=4)
    assert not emulated_board.link_up and emulated_board.frames == []
    emulated_board.plug_cable()
    emulated_board.run(3)
    assert emulated_board.link_up


def test_a_port_where_nobody_listens_refuses(emulated_board: Board) -> None:
    emulated_board.flash(NATIVE_IMAGE)
    emulated_board.listen(5000).accept()
    with pytest.raises(NothingCame, match=r"connection with 192\.168\.50\.100:81"):
        emulated_board.connect(81, within_s=1)


@pytest.mark.parametrize(
    ("foreign", "says"),
    [
        (DeadImage.LOCKS_UP, r"'hello' on the console did not come, and cannot: core 0 locked up at pc 0x10000280"),
        (DeadImage.RESETS, r"and cannot: 21 resets in \d\.\d s of simulated time"),
    ],
)
def test_what_cannot_come_is_not_waited_for(foreign: DeadImage, says: str, emulated_board: Board) -> None:
    emulated_board.flash(dead(foreign))
    with pytest.raises(NothingCame, match=says):
        emulated_board.expect("hello", within_s=3600)
    assert emulated_board.time_us < 10e6 and emulated_board.events


def test_typing_at_a_board_without_a_console_says_so(emulated_board: Board) -> None:
    emulated_board.flash(dead(DeadImage.STANDS_STILL))
    with pytest.raises(NothingCame, match=re.escape("a console did not come within 10 s of simulated time")):
        emulated_board.type("hello\r")


def test_settings_that_cannot_be_are_one_line(make_emulated_board: Make) -> None:
    with pytest.raises(BoardError, match="settings: phy_link_delay_us"):
        make_emulated_board(phy_link_delay_us=-1)
    with pytest.raises(UnknownName, match="RPI_PICO_9"):
        make_emulated_board("RPI_PICO_9")


def test_python_is_run_and_files_are_copied(emulated_board: Board, image: Image) -> None:
    emulated_board.flash(image("micropython-1.26.0"))
    emulated_board.copy({"lib/mine/one.py": "ONE = 1\n", "/main.py": b"print('main', 40 + 2)\n"})
    assert emulated_board.execute("from mine.one import ONE; print(ONE, 6 * 7)") == "1 42\r\n"
    console = emulated_board.console
    assert "raw REPL" not in console and "42" not in console and console.isascii(), "of the raw prompt it has nothing"
    traceback = r'Traceback .*:\n  File "<stdin>", line 1, in <module>\nZeroDivisionError: divide by zero'
    with pytest.raises(NothingCame, match=f"^the board's Python raised:\n{traceback}$"):
        emulated_board.execute("print('so far'); 1 / 0")
    assert re.search("\n  so far\n  Traceback ", emulated_board.report())
    with pytest.raises(NothingCame) as caught:
        emulated_board.execute("print('at work')\nwhile True: pass", within_s=0.1)
    assert str(caught.value).count("did not come within") == 1 and "\n  at work" in str(caught.value)
    for said in (emulated_board.report(), str(caught.value)):
        assert "raw REPL" not in said and "\\x" not in said
    emulated_board.power_cycle()
    emulated_board.expect("main 42\r\n")


def once_and_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """A board that boots, and one that takes the state of the first."""
    monkeypatch.setattr(board_module, "_BOOTED", {})
    yield make()
    with monkeypatch.context() as patched:
        patched.setattr(Board, "_program", lambda *_: pytest.fail("the second board booted, too"))
        yield make()


def test_a_second_board_boots_from_the_state_of_the_first(
    make_emulated_board: Make, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for board in once_and_again(make_emulated_board, monkeypatch):
        board.boot(image("micropython-1.26.0"), files={"main.py": "import time; print('main', time.ticks_us())"})
        assert board.execute("print(6 * 7)") == "42\r\n"
        board.power_cycle()
        board.expect(r"main \d+\r\n")
        ends.append((board.time_ps, board.console, board.events, board.frames))
    assert ends[0] == ends[1] and ends[0][1].count("main ") == 2


@pytest.mark.parametrize(
    ("kind", "runtime"),
    [("RPI_PICO_W", "micropython-pico-w-1.26.1"), ("RPI_PICO2_W", "micropython-pico2-w-1.28.0")],
)
def test_boards_with_a_radio_take_a_state_too(
    kind: str, runtime: str, make_emulated_board: Make, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for board in once_and_again(lambda: make_emulated_board(kind), monkeypatch):
        board.boot(image(runtime))
        assert board.execute("print(6 * 7)") == "42\r\n"
        ends.append((board.time_ps, board.console))
    assert ends[0] == ends[1]


def test_a_restored_board_meets_its_server_at_the_same_time(
    make_emulated_board: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for board in once_and_again(make_emulated_board, monkeypatch):
        board.boot(NATIVE_IMAGE, until="")
        server = board.listen(5000).accept()
        server.expect(b"1")
        ends.append((board.time_ps, [(frame.time_us, frame.to_board, frame.data) for frame in board.frames]))
    assert ends[0] == ends[1] and len(ends[0][1]) > 5


def test_only_a_new_board_with_the_same_settings_takes_a_state(
    make_emulated_board: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted: list[int] = []
    monkeypatch.setattr(board_module, "_BOOTED", {})
    monkeypatch.setattr(Board, "_program", lambda board, contents: booted.append(len(contents)))
    ran, probed = make_emulated_board(), make_emulated_board()
    ran.run(0.001)
    probed.pin("GP2")
    for board in (make_emulated_board(), make_emulated_board(), make_emulated_board(flash_id=2), ran, probed):
        board.boot(NATIVE_IMAGE, until="")
    assert len(booted) == 4


def test_an_unknown_runtime_is_told_with_the_nearest(emulated_board: Board) -> None:
    with pytest.raises(PortbenchError, match=r"unknown runtime 'micropython-1\.26'; choose one of: micropython-1\.2"):
        emulated_board.flash("micropython-1.26")
    with pytest.raises(PortbenchError, match="micropython-unix: is not an image of a board"):
        emulated_board.flash("micropython-unix")


def test_circuitpythons_drive_and_second_serial_port(emulated_board: Board, image: Image) -> None:
    emulated_board.flash(image("circuitpython-9.1.4"))
    enabled = "import usb_cdc\nusb_cdc.enable(console=True, data=True)\n"
    files = {"boot.py": enabled, "code.py": DATA_ECHO, "lib/deep/er.py": "X = 1\n"}
    emulated_board.copy(files, wait_for_console=True)
    emulated_board.expect("ready")
    sizes = emulated_board.files()
    assert (sizes["code.py"], sizes["lib/deep/er.py"]) == (len(DATA_ECHO), 6)
    assert emulated_board.read("boot.py") == enabled.encode()
    with pytest.raises(BoardError, match=r"the board's drive, logical unit 0: .*nothing\.txt"):
        emulated_board.read("nothing.txt")
    emulated_board.power_cycle()
    emulated_board.expect("ready")
    port = emulated_board.serial(1)
    port.send(b"abc")
    port.expect(b"ABC")
    with pytest.raises(ValueError, match="0 is not a USB serial port of the board; use 1 or 2 or 3"):
        emulated_board.serial(0)


def pair(make: Make) -> tuple[Board, Board]:
    first, second = make(), make(flash_id=2)
    for board in (first, second):
        board.flash(NATIVE_IMAGE)
    first.run(0.5)
    second.join(first)
    return first, second


def test_two_boards_share_a_switch_and_its_pc(make_emulated_board: Make) -> None:
    seen = []
    for _ in range(2):
        first, second = pair(make_emulated_board)
        server = first.listen(5000)
        one, two = server.accept(), server.accept()
        for connection in (one, two):
            connection.expect(b"1")
        second.run(0.01)
        assert one.peer.partition(":")[0] != two.peer.partition(":")[0]
        assert abs(first.time_us - 0.5e6 - second.time_us) < 10
        seen.append((one.peer, two.peer, first.time_ps, second.time_ps, [frame.data for frame in second.frames]))
    assert seen[0] == seen[1]


def test_boards_on_one_switch_keep_their_power(make_emulated_board: Make) -> None:
    first, second = pair(make_emulated_board)
    for board in (first, second):
        with pytest.raises(BoardError, match="two boards on one switch keep their power"):
            board.power_cycle()
    with pytest.raises(BoardError, match="two boards on one switch keep their power"):
        make_emulated_board().join(first)
    with pytest.raises(BoardError, match="only two boards with an Ethernet cable each"):
        make_emulated_board("RPI_PICO").join(make_emulated_board())


def test_picoseconds_are_exact(emulated_board: Board) -> None:
    emulated_board.run(1e-6)
    first_ps = emulated_board.time_ps
    emulated_board.power_cycle()
    emulated_board.run(1e-6)
    # The first end of an instruction at ROSC's 6.5 MHz.
    assert first_ps == 1_230_769 and emulated_board.time_ps == 2 * first_ps


def test_an_answer_goes_so_long_after_the_bytes(emulated_board: Board) -> None:
    emulated_board.flash(NATIVE_IMAGE)
    server = emulated_board.listen(5000).accept()
    server.expect(b"1")
    asked = emulated_board.expect_frame(lambda frame: frame.data.endswith(b"1") and not frame.to_board)
    assert 0 <= emulated_board.time_ps - asked.arrival_ps < 1_000_000, "the wait ends with the bytes"
    server.answer(b"2", after_us=200)
    server.expect(b"3")
    answer = next(frame for frame in emulated_board.frames if frame.to_board and frame.data.endswith(b"2"))
    assert answer.start_ps - asked.arrival_ps == 200_000_000
    emulated_board.run(0.001)
    with pytest.raises(ValueError, match=r"after_us=200: the last bytes came 100\d\.\d{3} us ago; answer earlier$"):
        server.answer(b"4", after_us=200)


def test_an_abort_is_a_reset(emulated_board: Board) -> None:
    emulated_board.flash(NATIVE_IMAGE)
    server = emulated_board.listen(5000).accept()
    server.expect(b"1")
    server.abort()
    reset = lambda frame: (tcp := frame.layer(dpkt.tcp.TCP)) and tcp.flags & dpkt.tcp.TH_RST  # noqa: E731
    assert emulated_board.expect_frame(reset, 0.001).to_board
    with pytest.raises(NothingCame, match="is gone, and takes nothing more"):
        server.send(b"2")
