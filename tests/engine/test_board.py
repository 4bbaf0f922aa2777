"""`portbench_engine.Board`, a board by its parts; the bundled native image needs no download."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import portbench_engine as engine
import pytest

from tests.conftest import Image

W5500 = {
    **{"chip": "W5500", "bus": "spi0", "sck_pin": 18, "mosi_pin": 19},
    **{"miso_pin": 16, "csn_pin": 17, "rstn_pin": 20, "intn_pin": 21},
}
S = engine.PS_PER_S


class Listener:
    """A server on the simulated PC that takes connections and says nothing."""

    def __init__(self) -> None:
        self.came_us: list[float] = []

    def accept(self, conn: int, peer: str, now_us: float) -> tuple[bytes, bool, bool, None]:
        self.came_us.append(now_us)
        return b"", False, False, None

    def receive(self, conn: int, data: bytes, now_us: float) -> tuple[bytes, bool, bool, None]:
        return b"", False, False, None

    def closed(self, conn: int, reset: bool, now_us: float) -> tuple[bytes, bool, bool, None]:
        return b"", False, False, None


@pytest.fixture
def native(image: Image) -> Callable[[], Any]:
    return lambda: engine.Board.from_uf2(image("portbench-native"), devices=[W5500])


def test_two_boards_are_equal_to_the_picosecond(native: Callable[[], Any]) -> None:
    found = []
    for _ in range(2):
        board, listener = native(), Listener()
        board.network.log(10_000)
        board.network.listen(5000, listener)
        with board.edges() as edges:
            assert board.run(2 * S) == "time"
        assert 2 * S <= board.time_ps < 2 * S + S // 1_000_000
        assert board.network.link_up and board.network.address == "192.168.50.100"
        found.append((board.time_ps, edges, board.network.frames(), listener.came_us))
    assert found[0] == found[1]
    _, edges, frames, came_us = found[0]
    assert len(came_us) == 1
    assert [edge.time_ps for edge in edges] == sorted(edge.time_ps for edge in edges)
    assert {edge.pin for edge in edges} >= {17, 20}  # the chip's select and reset
    selects = [edge.high for edge in edges if edge.pin == 17]
    assert all(one != other for one, other in pairwise(selects))
    assert [frame.to_board for frame in frames[:2]] == [False, True]  # DHCP's DISCOVER and OFFER
    # 342 bytes, 8 of preamble and 4 of check sequence, at 80 ns each.
    assert {frame.arrival_ps - frame.start_ps for frame in frames[:2]} == {(342 + 12) * 80_000}
    assert {frame.fate for frame in frames} == {"Delivered"}


def test_a_pulled_cable_ends_the_link_and_a_power_cycle_the_time(native: Callable[[], Any]) -> None:
    board = native()
    board.run(2 * S)
    board.network.set_cable(False)
    board.run(S // 1000)
    assert not board.network.link_up
    flash = board.flash
    board.power_cycle()
    assert board.time_ps == 0 and board.flash == flash


def test_pins_are_held_wired_and_released() -> None:
    board = engine.Board()
    one, other = board.pin(2), board.pin(3)
    one.hold(3.3)
    assert one.high and not other.high and not one.driven
    one.wire(other)
    assert other.high
    one.unwire(other)
    with pytest.raises(ValueError, match="no wire joins pin 2 and pin 3"):
        one.unwire(other)
    one.release()
    assert not one.high
    with pytest.raises(ValueError, match="pin 30: the RP2040 has GPIO 0 to 29"):
        board.pin(30).hold(3.3)


def test_edges_that_do_not_fit_are_an_error_and_the_trace_ends(
    native: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    board = native()
    monkeypatch.setattr("portbench_engine.board.MOST_EDGES", 10)
    with pytest.raises(engine.EngineError, match="edges did not fit"), board.edges():
        board.run(2 * S)
    with board.edges() as edges:
        board.run(S // 1_000_000)
    assert edges == []


def test_a_board_without_a_network_says_so() -> None:
    board = engine.Board()
    with pytest.raises(ValueError, match="no network"):
        board.network.listen(5000, Listener())


def test_a_prompt_answers_by_every_part(image: Image) -> None:
    board = engine.Board.from_uf2(image("micropython-1.26.0"))
    board.console.expect(">>> ")

    def answer(line: str) -> str:
        board.console.write(line.encode() + b"\r")
        said: str = board.console.expect("\r\n>>> ")
        return said

    assert "42" in answer("6 * 7")
    assert 0 < board.console.received_ps <= board.time_ps
    answer("from machine import Pin, UART; lamp = Pin(15, Pin.OUT); uart = UART(0, 115200, tx=Pin(0), rx=Pin(1))")
    with board.edges() as edges:
        answer("lamp.on(); lamp.off()")
    assert [edge.high for edge in edges if edge.pin == 15] == [True, False]
    assert board.pin(15).driven
    answer("_ = uart.write(b'out')")
    board.run(S // 1000)
    assert board.uarts[0].read() == b"out" and 0 < board.uarts[0].received_ps <= board.time_ps
    assert board.uarts[0].write(b"in") == 2
    board.run(S // 1000)
    assert "b'in'" in answer("uart.read()")


def test_a_drive_is_listed_read_and_written(image: Image) -> None:
    board = engine.Board.from_uf2(image("circuitpython-9.1.4"))
    board.run(6 * S)
    drive = board.drive()
    assert drive.label == "CIRCUITPY" and "boot_out.txt" in drive.files()
    drive.write({"note.txt": b"kept"})
    assert drive.read("note.txt") == b"kept" and drive.files()["note.txt"] == 4
    drive.remove("note.txt")
    assert "note.txt" not in drive.files()
    with pytest.raises(OSError, match=r"note\.txt"):
        drive.read("note.txt")


def test_an_image_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "torn.uf2"
    path.write_bytes(b"UF2\n")
    with pytest.raises(ValueError, match="UF2"):
        engine.Board.from_uf2(path)


@pytest.mark.parametrize("until_ms", [20, 1_600, 1_650, 1_700, 1_900])
def test_a_restored_board_goes_on_to_the_picosecond(native: Callable[[], Any], until_ms: int) -> None:
    first, restored = native(), native()
    first.run_until(until_ms * S // 1000)
    restored.restore(first.snapshot())
    assert restored.time_ps == first.time_ps
    ends = []
    for board in (first, restored):
        listener = Listener()
        board.network.listen(5000, listener)
        board.network.log(10_000)
        with board.edges() as edges:
            board.run_until(21 * S // 10)
        ends.append((board.time_ps, edges, board.network.frames(), board.console.read(), listener.came_us))
    assert ends[0] == ends[1]


def test_what_cannot_be_restored_is_refused_in_one_line(native: Callable[[], Any]) -> None:
    board, listener = native(), Listener()
    snapshot = board.snapshot()
    for foreign, why in [
        (b"", "not a snapshot of a board"),
        (snapshot[:-1], "the snapshot is damaged: save the board again"),
    ]:
        with pytest.raises(ValueError, match=rf"^{why}$"):
            board.restore(foreign)
    with pytest.raises(ValueError, match=r"^the snapshot is of a board with other settings"):
        engine.Board(devices=[]).restore(snapshot)
    board.network.listen(5000, listener)
    board.run_until(2 * S)
    assert len(listener.came_us) == 1
    with pytest.raises(ValueError, match=r"^cannot save the board: it has exchanged data with a program on the PC$"):
        board.snapshot()
