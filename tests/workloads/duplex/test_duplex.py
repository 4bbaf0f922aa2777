"""Both directions at once: the PC's part, figures, what a result must be, and rows of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from portbench.workloads import BadResult, ConversationError, Spent, workload
from portbench.workloads.duplex.workload import Settings
from portbench.workloads.transfer import DONE, Transfers, block

DUPLEX = workload("duplex")
SETTINGS = Settings(transfer_bytes=1000, writes="1,500")
GOOD = [[1, 256, 4096], [500, 1000, 800]]


@given(st.integers(1, 700), st.integers(1, 4), st.data())
def test_the_pc_sends_at_once_and_takes_what_comes(size: int, writes: int, data: st.DataObject) -> None:
    transfers, up = Transfers(), block(size) * writes
    stream = b"both %d %d\n" % (size, len(up)) + up
    cut = data.draw(st.integers(1, len(stream) - 1))
    said = transfers.receive(stream[:cut]) + transfers.receive(stream[cut:])
    assert said == up + DONE and transfers.exchanges == 1
    transfers.eof()


def test_a_wrong_byte_is_one() -> None:
    transfers = Transfers()
    assert transfers.receive(b"both 2 4\n") == b"\0\1\0\1"
    assert transfers.receive(b"\0\1") == b""
    with pytest.raises(ConversationError, match="wrong within its bytes from 2 on"):
        transfers.receive(b"\1\1")


def test_both_ways_are_counted() -> None:
    figures = DUPLEX.check({"transfers": GOOD}, SETTINGS).figures
    assert figures["both_1_mbit_s"] == 1 and figures["both_500_mbit_s"] == figures["both_mbit_s"] == 20
    assert figures["both_best_write_bytes"] == 500
    assert [each.name for each in DUPLEX.timed({"transfers": GOOD})] == ["both_1", "both_500"]


def test_what_a_transfer_took_of_the_board() -> None:
    figures = DUPLEX.spent([Spent("both_500", 0.5, 6000)], SETTINGS)
    assert figures == {"both_500_waits_percent": 50, "both_500_spi_bytes_per_byte": 3}


@pytest.mark.parametrize("transfers", [GOOD[:1], [[1, 255, 4096], GOOD[1]], [[1, 256, 0], GOOD[1]], None, []])
def test_a_result_that_is_none(transfers: Any) -> None:
    with pytest.raises(BadResult):
        DUPLEX.check({"transfers": transfers}, SETTINGS)


@pytest.mark.parametrize("writes", ["", "0", "1,", "1,1", "16385", "a"])
def test_sizes_that_are_none(writes: str) -> None:
    with pytest.raises(ValidationError):
        Settings(writes=writes)
