"""TCP throughput of a board while both sides send at once, by the size of its writes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from portbench.workloads import Column, Metric, WorkloadResult
from portbench.workloads.transfer import TransferSettings, TransferWorkload, WriteSizes


class Settings(TransferSettings):
    transfer_bytes: int = Field(default=32_768, ge=1, le=65_536, description="bytes of one transfer each way")
    writes: WriteSizes = Field(default="16,256,1024,4096", description="bytes of one write, in separate transfers")


class Result(WorkloadResult):
    transfers: list[Annotated[tuple[int, int, Annotated[int, Field(ge=1)]], Field(strict=False)]]
    """Bytes of a write, bytes each way, microseconds on the board's clock."""


class DuplexWorkload(TransferWorkload):
    name = "duplex"
    title = "Duplex TCP"
    headline = Metric("both_mbit_s", "Mbit/s both ways")
    reading = (
        "*Mbit/s both ways* is payload up and down together, while both sides send at once, on the board's clock, with"
        " the size of write that is best. `portbench show --csv` has all sizes."
    )
    columns = (Column("best write", "both_best_write_bytes"),)
    settings_type = Settings
    ways: ClassVar = {"both": 2}
    both_count = True

    def transfers(self, result: Mapping[str, Any]) -> Sequence[tuple[str, int, int, int]]:
        return [("both", *each) for each in Result.read(result).transfers]


WORKLOAD = DuplexWorkload()
