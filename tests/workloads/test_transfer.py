"""The PC's part of transfers: however TCP cuts the stream it says the same, and every fault is one clear line."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import ConversationError
from portbench.workloads.transfer import DONE, Transfers, block

KINDS = st.sampled_from(["up", "down", "echo"])


def stream(kind: str, write: int, times: int) -> tuple[bytes, bytes]:
    """Return the bytes that a board sends, and the bytes that it gets for them."""
    data = block(write) * times
    said = f"{kind} {write} {len(data)}\n".encode()
    if kind == "down":
        return said, data
    return said + data, data if kind == "echo" else DONE


@given(
    st.lists(st.tuples(KINDS, st.integers(1, 600), st.integers(1, 4)), min_size=1, max_size=4),
    st.lists(st.integers(0, 10_000), max_size=6),
)
def test_however_the_stream_is_cut(transfers: list[tuple[str, int, int]], cuts: list[int]) -> None:
    sent, due = map(b"".join, zip(*(stream(*each) for each in transfers), strict=True))
    edges = sorted({0, len(sent), *(cut % (len(sent) + 1) for cut in cuts)})
    pc = Transfers()
    assert b"".join(pc.receive(sent[low:high]) for low, high in pairwise(edges)) == due
    assert pc.exchanges == len(transfers)
    pc.eof()


def test_a_board_may_send_what_it_likes() -> None:
    assert Transfers().receive(b"up 0 3\nxyz") == DONE
    assert Transfers().receive(b"up 4194304 1\n\0") == DONE


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"sideways 1 1\n", "transfer 1 is announced by b'sideways 1 1'"),
        (b"up 1 0\n", "transfer 1 is announced by b'up 1 0'"),
        (b"up 1 4194305\n", "transfer 1 is announced by b'up 1 4194305'"),
        (b"up 4194305 1\n", "transfer 1 is announced by b'up 4194305 1'"),
        (b"up 1 " + b"1" * 40, "transfer 1 is announced by b'up 1 1111111111111111111' and 21 bytes more"),
        (b"up 4 8\n\0\1\2\3\0\1\2\2", "transfer 1 is wrong within its bytes from 0 on: b'\\x00"),
        (b"echo 1 1\n\0down 1 1\n?", "transfer 3 is announced by b'?'"),
    ],
)
def test_what_is_no_transfer(sent: bytes, says: str) -> None:
    pc = Transfers()
    with pytest.raises(ConversationError) as error:
        pc.receive(sent)
        pc.receive(b"\n")
    assert str(error.value).startswith(says)


@pytest.mark.parametrize("sent", [b"", b"up 1", b"up 1 5\n\0"])
def test_a_board_that_closes_too_early(sent: bytes) -> None:
    pc = Transfers()
    assert pc.receive(sent) == b""
    with pytest.raises(ConversationError, match=r"^the board closed with"):
        pc.eof()


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_whatever_a_board_sends(pieces: list[bytes]) -> None:
    pc = Transfers()
    try:
        for piece in pieces:
            pc.receive(piece)
        pc.eof()
    except ConversationError as error:
        assert "\n" not in str(error)


@given(st.integers(1, 27))
def test_a_report_follows_the_last_transfer(cut: int) -> None:
    transfers = Transfers()
    said = b"up 2 4\n" + block(2) * 2 + b'{"transfers":[]}\n'
    assert transfers.receive(said[:cut]) + transfers.receive(said[cut:]) == DONE
    assert transfers.report == {"transfers": []} and transfers.exchanges == 1
    transfers.eof()


def test_a_board_closes_within_its_report() -> None:
    transfers = Transfers()
    transfers.receive(b'up 1 1\n\x00{"transfers"')
    with pytest.raises(ConversationError, match="within its report"):
        transfers.eof()


def test_a_report_is_no_first_transfer() -> None:
    with pytest.raises(ConversationError, match="transfer 1 is announced by"):
        Transfers().receive(b'{"transfers":[]}\n')
