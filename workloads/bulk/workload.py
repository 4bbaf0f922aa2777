"""TCP throughput of a board, sending and receiving, by the size of its writes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from portbench.workloads import Column, Metric, Spent, WorkloadResult
from portbench.workloads.transfer import TransferSettings, TransferWorkload, WriteSizes


class Settings(TransferSettings):
    transfer_bytes: int = Field(default=65_536, ge=1, le=131_072, description="bytes of one transfer, with few writes")
    writes: WriteSizes = Field(default="1,16,256,1024,4096", description="bytes of one write, in separate transfers")


class Result(WorkloadResult):
    transfers: list[
        Annotated[tuple[Literal["up", "down", "echo"], int, int, Annotated[int, Field(ge=1)]], Field(strict=False)]
    ]
    """Direction, bytes of a write, bytes in all, microseconds on the board's clock."""


class BulkWorkload(TransferWorkload):
    name = "bulk"
    title = "Bulk TCP"
    headline = Metric("up_mbit_s", "Mbit/s up")
    reading = (
        "*up* is payload that the board sends until the PC has all of it, *down* payload that it receives, *echo*"
        " payload that it sends and receives write by write, counted once; Mbit/s on the board's clock, with the best"
        " size of write. `portbench show --csv` has all sizes."
    )
    columns = (
        Column("down Mbit/s", "down_mbit_s"),
        Column("echo Mbit/s", "echo_mbit_s"),
        Column("best write up", "up_best_write_bytes"),
        Column("waits up %", "up_waits_percent"),
        Column("SPI bytes per byte up", "up_spi_bytes_per_byte"),
    )
    comparable = ("up_mbit_s", "down_mbit_s")
    settings_type = Settings
    ways: ClassVar = {"up": 1, "down": 1, "echo": 2}

    def transfers(self, result: Mapping[str, Any]) -> Sequence[tuple[str, int, int, int]]:
        return Result.read(result).transfers

    def spent(self, intervals: Sequence[Spent], settings: TransferSettings) -> dict[str, float]:
        figures = super().spent(intervals, settings)
        largest = f"up_{max(settings.sizes)}"
        for kind in ("waits_percent", "spi_bytes_per_byte"):
            figures |= {f"up_{kind}": figures[name] for name in (f"{largest}_{kind}",) if name in figures}
        return figures


WORKLOAD = BulkWorkload()
