"""The rate of writing and reading a file on an SD card, and the idle time of the bus."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Native,
    Session,
    WorkloadResult,
    WorkloadSettings,
)

BLOCK: Final = 512
_NATIVE_HZ: Final = 31_250_000
WAYS: Final = ("write", "read")
_DRIVERS: Final = {
    "micropython": ("sdcard",),
    "wiznet": ("sdcard",),
    "circuitpython": ("sdcardio", "adafruit_sdcard"),
}
"""By family; the first is the usual one."""
_NEEDS: Final = {
    "sdcard": ("sdcard",),
    "sdcardio": (),  # in the image
    "adafruit_sdcard": ("adafruit-circuitpython-sd", "adafruit-circuitpython-busdevice"),
}


class Settings(WorkloadSettings):
    file_bytes: int = Field(
        default=5_000_000, ge=2 * BLOCK, le=8_000_000, description="bytes of the file, in whole blocks"
    )
    spi_hz: int = Field(default=31_250_000, ge=400_000, le=62_500_000, description="requested SPI clock")
    driver: Literal["usual", "sdcard", "sdcardio", "adafruit_sdcard"] = Field(
        default="usual", description="driver of the card; CircuitPython has two"
    )
    card: Literal["samsung-evo-plus-32gb", "sandisk-16gb", "memorex-2gb"] = Field(
        default="samsung-evo-plus-32gb", description="card whose times an emulated card has"
    )
    card_state: Literal["sound", "missing", "full", "read-only", "worn", "corrupt"] = Field(
        default="sound", description="fault of an emulated card"
    )
    card_seed: int = Field(default=1, ge=0, lt=2**53, description="seed of the emulated card's times")

    @property
    def blocks(self) -> int:
        return self.file_bytes // BLOCK


_Time = Annotated[int, Field(ge=1, le=1 << 62)]


class Result(WorkloadResult):
    """The times of each direction on the board's clock. `total_us` is from before the first call until the file is
    closed; the others cover all calls but the first."""

    write_total_us: _Time
    write_min_us: Annotated[int, Field(ge=0)]
    write_max_us: _Time
    write_sum_us: _Time
    read_total_us: _Time
    read_min_us: Annotated[int, Field(ge=0)]
    read_max_us: _Time
    read_sum_us: _Time
    card_spi_hz: _Time

    def of(self, way: str) -> tuple[int, int, int, int]:
        """Total, least, most and sum."""
        total, least, most, summed = (getattr(self, f"{way}_{name}_us") for name in ("total", "min", "max", "sum"))
        return total, least, most, summed


class SdCardWorkload(Native):
    name = "sd_card"
    title = "SD card"
    headline = Metric("read_kb_s", "KB/s read")
    reading = (
        "a file of 5 MB is written and read back with 512 bytes a call; KB are 1000 bytes. *gap* is the median time"
        " from the start of one byte on the bus to the start of the next within a block, *idle* the share of the time"
        " in which SCK stands still. Gap and idle are seen on the emulated bus only."
    )
    columns = (
        Column("write KB/s", "write_kb_s"),
        *(
            Column(f"{way} {title} us", f"{way}_latency_{which}_us")
            for way in WAYS
            for title, which in (("max", "max"), ("min", "min"), ("avg", "avg"))
        ),
        Column("SPI MHz", "spi_mhz"),
        *(Column(f"{way} gap ns", f"{way}_gap_median_ns") for way in WAYS),
        *(Column(f"{way} idle %", f"{way}_sck_idle_percent") for way in WAYS),
    )
    comparable = ("read_kb_s", "write_kb_s")
    settings_type = Settings
    quick_settings: ClassVar = {"file_bytes": 32_768}
    boards_only = True

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        figures: dict[str, float] = {"spi_mhz": said.card_spi_hz / 1e6}
        for way in WAYS:
            total, least, most, summed = said.of(way)
            average = summed / (settings.blocks - 1)
            if not least <= average <= most <= summed <= total:
                raise BadResult(
                    f"the client's {way} took {total} us, with calls of {least} to {most} us, {summed} us in all:"
                    " these contradict each other"
                )
            figures |= {
                f"{way}_total_us": float(total),
                f"{way}_latency_max_us": float(most),
                f"{way}_latency_min_us": float(least),
                f"{way}_latency_avg_us": average,
            }
        return Measurement(self.derive(figures, settings))

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        derived = dict(figures)
        for way in WAYS:
            if (key := f"{way}_total_us") in figures:
                derived[f"{way}_kb_s"] = settings.blocks * BLOCK * 1e3 / figures[key]
        return derived

    def simulated(
        self, counters: Mapping[str, float], figures: Mapping[str, float], settings: Settings
    ) -> dict[str, float]:
        """The gaps between bytes and the idle share of SCK, as the emulated card saw them."""
        found: dict[str, float] = {}
        for way in WAYS:
            for which in ("min", "median", "mean", "max"):
                if (gap := counters.get(f"sd_{way}_gap_{which}_ns")) is not None:
                    found[f"{way}_gap_{which}_ns"] = gap
            clocked_us, total_us = counters.get(f"sd_{way}_clocked_us"), figures.get(f"{way}_total_us")
            if clocked_us is not None and total_us:
                found[f"{way}_sck_idle_percent"] = 100 * (1 - clocked_us / total_us)
        return found

    def equipment(self, settings: Settings) -> Mapping[str, Any]:
        if settings.card_state == "missing":
            return {"sd_card": None}
        return {"sd_card": {"kind": settings.card, "state": settings.card_state, "seed": settings.card_seed}}

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        return _NEEDS[self._driver(family, settings)] if family in _DRIVERS else ()

    def check_room(self, family: str, settings: Settings) -> None:
        if family in _DRIVERS:
            self._driver(family, settings)
        elif family == "native" and (settings.spi_hz, settings.driver) != (_NATIVE_HZ, "usual"):
            raise ValueError(f"the native client has one driver, built for spi_hz={_NATIVE_HZ}; leave out both")

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.blocks]

    @staticmethod
    def _driver(family: str, settings: Settings) -> str:
        drivers = _DRIVERS[family]
        if settings.driver == "usual":
            return drivers[0]
        if settings.driver not in drivers:
            raise ValueError(f"-s driver={settings.driver}: {family} has {', '.join(drivers)}")
        return settings.driver


WORKLOAD = SdCardWorkload()
