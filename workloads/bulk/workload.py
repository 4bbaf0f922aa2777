"""TCP throughput of a board, sending and receiving, by the size of its writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Session,
    Spent,
    Timed,
    read_result,
)
from portbench.workloads.transfer import TransferSettings, TransferWorkload, WriteSizes, best_rates, spent_on_bytes

DIRECTIONS: Final = ("up", "down", "echo")


class Settings(TransferSettings):
    transfer_bytes: int = Field(default=65_536, ge=1, le=131_072, description="bytes of one transfer, with few writes")
    writes: WriteSizes = Field(default="1,16,256,1024,4096", description="bytes of one write, in separate transfers")


class Result(BaseModel):
    model_config = ConfigDict(strict=True)

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

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = read_result(Result, result)
        due = [(way, size, settings.total(size)) for size in settings.sizes for way in DIRECTIONS]
        if (made := [(way, size, total) for way, size, total, _ in said.transfers]) != due:
            wrong = next((each for each, wanted in zip(made, due, strict=False) if each != wanted), None)
            raise BadResult(f"the client made {len(made)} transfers, not {len(due)}, or not as asked: {wrong}")
        figures = {f"{way}_{size}_us": float(took_us) for way, size, _, took_us in said.transfers}
        return Measurement(self.derive(figures, settings))

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        said = read_result(Result, result)
        return [Timed(f"{way}_{size}", us, exchange=number) for number, (way, size, _, us) in enumerate(said.transfers)]

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        payload = {size: settings.total(size) for size in settings.sizes}
        derived = dict(figures)
        for way in DIRECTIONS:
            derived |= best_rates(figures, way, payload)
        return derived

    def spent(self, intervals: Sequence[Spent], settings: Settings) -> dict[str, float]:
        ways = {"up": 1, "down": 1, "echo": 2}
        payload = {f"{way}_{size}": n * settings.total(size) for size in settings.sizes for way, n in ways.items()}
        figures = spent_on_bytes(intervals, payload)
        largest = f"up_{max(settings.sizes)}"
        for kind in ("waits_percent", "spi_bytes_per_byte"):
            figures |= {f"up_{kind}": figures[name] for name in (f"{largest}_{kind}",) if name in figures}
        return figures

    def exchanges(self, settings: Settings) -> int:
        return len(DIRECTIONS) * len(settings.sizes)


WORKLOAD = BulkWorkload()
