"""How many megabits a second a board moves over TCP where both sides send at once, by the size of its writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Readiness,
    Session,
    Spent,
    Timed,
    Workload,
    read_result,
)
from portbench.workloads.transfer import Transfers, spent_on_bytes
from portbench.workloads.written import WriteSizes


class Settings(WriteSizes):
    transfer_bytes: int = Field(default=32_768, ge=1, le=65_536, description="bytes of one transfer each way")
    writes: str = Field(default="16,256,1024,4096", description="bytes of one write, each in transfers of its own")


class Result(BaseModel):
    model_config = ConfigDict(strict=True)

    transfers: list[Annotated[tuple[int, int, Annotated[int, Field(ge=1)]], Field(strict=False)]]
    """Bytes of a write, bytes each way, microseconds on the board's clock."""


class DuplexWorkload(Workload):
    name = "duplex"
    title = "Duplex TCP"
    readiness = Readiness.CONNECTED
    headline = Metric("both_mbit_s", "Mbit/s both ways")
    reading = (
        "*Mbit/s both ways* is payload up and down together, while both sides send at once, on the board's clock, with"
        " the size of write that is best. `portbench show --csv` has all sizes."
    )
    columns = (Column("best write", "both_best_write_bytes"),)
    settings_type = Settings
    exchange = "transfer"

    def quick(self) -> Settings:
        return Settings(transfer_bytes=2048, writes="256,1024")

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = read_result(Result, result)
        due = [(size, settings.total(size)) for size in settings.sizes]
        if [(size, total) for size, total, _ in said.transfers] != due:
            raise BadResult(f"the client made {len(said.transfers)} transfers, not {len(due)}, or not as asked")
        figures = {f"both_{size}_us": float(took_us) for size, _, took_us in said.transfers}
        return Measurement(self.derive(figures, settings))

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        rates = {
            size: 2 * settings.total(size) * 8 / figures[key]
            for size in settings.sizes
            if (key := f"both_{size}_us") in figures
        }
        derived = {**figures, **{f"both_{size}_mbit_s": rate for size, rate in rates.items()}}
        if rates:
            best = max(rates, key=lambda size: rates[size])
            derived |= {"both_mbit_s": rates[best], "both_best_write_bytes": float(best)}
        return derived

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        return [Timed(f"both_{size}", us, exchange=number) for number, (size, _, us) in enumerate(result["transfers"])]

    def spent(self, stretches: Sequence[Spent], settings: Settings) -> dict[str, float]:
        return spent_on_bytes(stretches, {f"both_{size}": 2 * settings.total(size) for size in settings.sizes})

    def exchanges(self, settings: Settings) -> int:
        return len(settings.sizes)

    def native_count(self, settings: Settings) -> int:
        return len(settings.sizes)

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.transfer_bytes, *settings.sizes]

    def conversation(self, max_bytes: int) -> Transfers:
        return Transfers()


WORKLOAD = DuplexWorkload()
