"""Figures of a bulk run, what a result must be, and rows of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from portbench.errors import PortbenchError, Unsupported
from portbench.runner.collect import check_result
from portbench.workloads import BadResult, Spent, workload
from portbench.workloads.bulk.workload import Settings
from portbench.workloads.transfer import WRITES

BULK = workload("bulk")
SETTINGS = Settings(transfer_bytes=1000, writes="1,500")
GOOD = [
    *(["up", 1, 256, 512], ["down", 1, 256, 1024], ["echo", 1, 256, 2048]),
    *(["up", 500, 1000, 400], ["down", 500, 1000, 800], ["echo", 500, 1000, 8000]),
]


def test_the_best_size_of_write_is_the_figure() -> None:
    figures = BULK.check({"transfers": GOOD}, SETTINGS).figures
    assert figures["up_500_mbit_s"] == figures["up_mbit_s"] == 20 and figures["up_best_write_bytes"] == 500
    assert figures["echo_1_mbit_s"] == figures["echo_mbit_s"] == 1 and figures["echo_best_write_bytes"] == 1
    assert figures["down_1_us"] == 1024 and figures["down_mbit_s"] == 10


@pytest.mark.parametrize(
    ("transfers", "says"),
    [
        (GOOD[:-1], "the client made 5 transfers, not 6"),
        ([["up", 1, 255, 512], *GOOD[1:]], "or not as asked: ('up', 1, 255)"),
        ([["sideways", 1, 256, 512], *GOOD[1:]], "the client's transfers[0][0] is 'sideways'"),
        ([["up", 1, 256, 0], *GOOD[1:]], "the client's transfers[0][3] is 0"),
    ],
)
def test_a_result_that_is_none(transfers: Any, says: str) -> None:
    with pytest.raises(BadResult) as error:
        BULK.check({"transfers": transfers}, SETTINGS)
    assert says in str(error.value)


def test_what_a_transfer_took_of_the_board() -> None:
    spans = [Spent(each.name, 0.25, 2500) for each in BULK.timed({"transfers": GOOD})]
    figures = BULK.spent(spans, SETTINGS)
    assert figures["up_500_spi_bytes_per_byte"] == figures["down_500_spi_bytes_per_byte"] == 2.5
    assert figures["echo_500_spi_bytes_per_byte"] == 1.25 and figures["up_1_waits_percent"] == 25
    assert (figures["up_spi_bytes_per_byte"], figures["up_waits_percent"]) == (2.5, 25)
    assert BULK.spent([], SETTINGS) == {}


@pytest.mark.parametrize("writes", ["", "0", "1,", "1,1", "16385", "a", "-1", "1,2,3,4,5,6,7,8,9,10,11"])
def test_sizes_that_are_none(writes: str) -> None:
    with pytest.raises(ValidationError):
        Settings(writes=writes)


def test_small_writes_are_few() -> None:
    settings = Settings(transfer_bytes=65_536, writes="1,4096")
    assert settings.total(1) == WRITES and settings.total(4096) == 65_536
    assert Settings(transfer_bytes=100, writes="4096").total(4096) == 4096


@pytest.mark.parametrize("name", ["bulk", "duplex"])
@pytest.mark.parametrize(("bytes_refused", "size"), [(4096, 4096), (16_383, 4096), (16_385, 16_384), (4095, None)])
def test_a_write_that_the_port_lacks_memory_for_is_unsupported(name: str, bytes_refused: int, size: int | None) -> None:
    error = f"MemoryError('memory allocation failed, allocating {bytes_refused} bytes')"
    known, settings = workload(name), Settings(writes="4096,16384")
    lacks = f"unsupported: this port has no memory for writes of {size} bytes; choose smaller ones, -s writes"
    wanted = f"the client failed in stage run: {error}" if size is None else lacks
    with pytest.raises(PortbenchError) as raised:
        check_result({"error": error, "stage": "run"}, known, settings)
    assert str(raised.value) == wanted and isinstance(raised.value, Unsupported) == (size is not None)
