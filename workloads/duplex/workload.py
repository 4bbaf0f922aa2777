"""TCP throughput of a board while both sides send at once, by the size of its writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

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


class Settings(TransferSettings):
    transfer_bytes: int = Field(default=32_768, ge=1, le=65_536, description="bytes of one transfer each way")
    writes: WriteSizes = Field(default="16,256,1024,4096", description="bytes of one write, in separate transfers")


class Result(BaseModel):
    model_config = ConfigDict(strict=True)

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

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = read_result(Result, result)
        due = [(size, settings.total(size)) for size in settings.sizes]
        if [(size, total) for size, total, _ in said.transfers] != due:
            raise BadResult(f"the client made {len(said.transfers)} transfers, not {len(due)}, or not as asked")
        figures = {f"both_{size}_us": float(took_us) for size, _, took_us in said.transfers}
        return Measurement(self.derive(figures, settings))

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        return {**figures, **best_rates(figures, "both", {size: 2 * settings.total(size) for size in settings.sizes})}

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        return [Timed(f"both_{size}", us, exchange=number) for number, (size, _, us) in enumerate(result["transfers"])]

    def spent(self, intervals: Sequence[Spent], settings: Settings) -> dict[str, float]:
        return spent_on_bytes(intervals, {f"both_{size}": 2 * settings.total(size) for size in settings.sizes})

    def exchanges(self, settings: Settings) -> int:
        return len(settings.sizes)


WORKLOAD = DuplexWorkload()
