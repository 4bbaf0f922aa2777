"""The simulated PC's side of a test: exact answers, resets and datagrams."""

import dpkt
import pytest

from portbench.testing import Board, NothingCame
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine


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
