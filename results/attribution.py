"""The time of a row by cause, as measured by the engine and as a run file holds it.

Each picosecond of a span has exactly one cause. There is one list per cause or count, with an entry for each span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from portbench.console import shown


@dataclass(frozen=True)
class Group:
    """Causes with a common title."""

    name: str
    title: str


@dataclass(frozen=True)
class Cause:
    """`name`: the key in a run file."""

    name: str
    group: str
    title: str


_SPI: Final = Group("spi", "SPI")
_DRIVER: Final = Group("driver", "driver between SPI frames")
_CODE: Final = Group("code", "interpreter and C code")
_WAIT: Final = Group("wait", "waiting")
_USB: Final = Group("usb", "USB")
_WIFI: Final = Group("wifi", "Wi-Fi")
_NETWORK: Final = Group("network", "network and PC")
_UNNAMED: Final = Group("unnamed", "unnamed")

GROUPS: Final = {group.name: group for group in (_SPI, _DRIVER, _CODE, _WAIT, _USB, _WIFI, _NETWORK, _UNNAMED)}

_ALL: Final = (
    Cause("spi_bits", "spi", "bits on the bus"),
    Cause("gap_pause", "spi", "the controller's own pauses"),
    Cause("gap_miss", "spi", "between bytes: flash cache misses"),
    Cause("gap_wait", "spi", "between bytes: bus wait states"),
    Cause("gap_run", "spi", "between bytes: execution"),
    Cause("driver_miss", "driver", "flash cache misses"),
    Cause("driver_wait", "driver", "bus wait states"),
    Cause("driver_run", "driver", "execution"),
    Cause("code_miss", "code", "flash cache misses"),
    Cause("code_wait", "code", "bus wait states"),
    Cause("code_run", "code", "execution"),
    Cause("wait_poll", "wait", "a frame lies unread until a timer polls the chip"),
    Cause("wait_intn", "wait", "a frame lies unread until the chip's interrupt is served"),
    Cause("wait_timer", "wait", "asleep until a timer"),
    Cause("wait_dma", "wait", "asleep until a DMA transfer ends"),
    Cause("wait_chip", "wait", "asleep until the network chip's interrupt, no frame unread"),
    Cause("wait_usb", "wait", "asleep until USB"),
    Cause("wait_other", "wait", "asleep until another interrupt or event"),
    Cause("usb", "usb", "in the USB interrupt"),
    Cause("link", "network", "the link comes up"),
    Cause("radio", "wifi", "the radio chip works on a frame"),
    Cause("air", "wifi", "a frame waits for its turn on the air, and is sent"),
    Cause("access_point", "wifi", "the access point has a frame"),
    Cause("power_save", "wifi", "the access point keeps a frame until the radio wakes"),
    Cause("wire_to_pc", "network", "a frame on the wire to the PC"),
    Cause("pc", "network", "the PC prepares its answer"),
    Cause("delayed_ack", "network", "the PC delays its acknowledgement"),
    Cause("wire_to_board", "network", "a frame on the wire to the board"),
    Cause("unnamed", "unnamed", "unnamed"),
)

CAUSES: Final = {cause.name: cause for cause in _ALL}
"""By name, in the order of a table."""


def moment_title(name: str) -> str:
    """The name of a moment on a time line that does not show misses and wait states."""
    cause = CAUSES[name]
    if name.endswith("_run"):
        return "SPI: between bytes" if cause.group == _SPI.name else GROUPS[cause.group].title
    return f"SPI: {cause.title}" if cause.group == _SPI.name else cause.title


_MOST = 1 << 63
_Count = Annotated[int, Field(ge=0, le=_MOST)]
Line = Annotated[str, AfterValidator(shown)]
"""Text without control characters, which any output may have as it is."""
Text = Annotated[str, Field(min_length=1), AfterValidator(shown)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


@dataclass(frozen=True)
class Span:
    """An interval on the client's clock: a message, a loop, or a stage before ready."""

    name: str
    start_ps: int
    duration_ps: int
    reported_us: float | None
    """The duration that the client reported; None for a stage without one."""
    causes_ps: dict[str, int]
    """By `CAUSES`, without zeros. They add up to `duration_ps`."""
    counts: dict[str, int]
    """See `Spans.counts`."""
    interrupts: dict[str, int]
    """Interrupts of core 0, by the datasheet's names."""
    registers: dict[str, int]
    """SPI frames by register and direction: `S0_RX_RSR read`."""

    def share(self, *causes: str) -> float:
        """Part of the span, 0 to 1, that went to these causes or groups."""
        if not self.duration_ps:
            return 0.0
        return sum(self.ps(cause) for cause in causes) / self.duration_ps

    def ps(self, cause: str) -> int:
        """Picoseconds that went to a cause, or to a group of them."""
        if cause in CAUSES:
            return self.causes_ps.get(cause, 0)
        if cause not in GROUPS:
            raise KeyError(cause)
        return sum(ps for name, ps in self.causes_ps.items() if CAUSES[name].group == cause)

    @property
    def named_share(self) -> float:
        return 1.0 - self.share("unnamed")


class Spans(_Model):
    """Many spans, in the order of their time. Every list has an entry for each."""

    names: list[Text] = []
    start_ps: list[_Count] = []
    duration_ps: list[_Count] = []
    reported_us: list[Annotated[float, Field(ge=0)] | None] = []
    causes_ps: dict[Text, list[_Count]] = {}
    counts: dict[Text, list[_Count]] = {}
    """`spi_frames`, `spi_bytes`, `cache_accesses`, `cache_misses`, `instructions`, of these `flash_instructions`,
    `rom_instructions`, `fpu_instructions` (arithmetic) and `dcp_instructions`, `frames_from_board`, `frames_to_board`,
    `sleeps`, and `hidden_ps`: network time that the board did not wait for."""
    interrupts: dict[Text, list[_Count]] = {}
    registers: dict[Text, list[_Count]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Span]:  # type: ignore[override]
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> Span:
        return self._span(self.names[index], self.start_ps[index], self.reported_us[index], itemgetter(index))

    def named(self, name: str) -> Spans:
        """Those of one name."""
        return self.some([index for index, each in enumerate(self.names) if each == name])

    def some(self, which: Sequence[int]) -> Spans:
        """Those with these indices."""

        def chosen(whole: Any) -> Any:
            if isinstance(whole, dict):
                return {key: chosen(column) for key, column in whole.items()}
            return [whole[index] for index in which]

        return Spans(**{name: chosen(getattr(self, name)) for name in Spans.model_fields})

    def total(self) -> Span:
        """All of them as one."""
        told = [value for value in self.reported_us if value is not None]
        return self._span("total", min(self.start_ps, default=0), sum(told) if told else None, sum)

    def _span(self, name: str, start_ps: int, reported_us: float | None, of: Callable[[list[int]], int]) -> Span:
        """`of`: the value of a column."""
        found = (
            {key: value for key, column in columns.items() if (value := of(column))}
            for columns in (self.causes_ps, self.counts, self.interrupts, self.registers)
        )
        return Span(name, start_ps, of(self.duration_ps), reported_us, *found)

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        columns = chain(*(each.values() for each in (self.causes_ps, self.counts, self.interrupts, self.registers)))
        lengths = {len(column) for column in columns}
        lengths |= {len(self.start_ps), len(self.duration_ps), len(self.reported_us)}
        if wrong := lengths - {len(self.names)}:
            raise ValueError(f"{len(self.names)} spans, but a list of {max(wrong)} entries")
        if unknown := sorted(set(self.causes_ps) - set(CAUSES)):
            raise ValueError(f"{unknown[0]!r} is not a cause")
        for index, duration in enumerate(self.duration_ps):
            summed = sum(column[index] for column in self.causes_ps.values())
            if summed != duration:
                raise ValueError(f"the causes of span {index + 1} add up to {summed} ps, not {duration}")
        return self


class FlashPages(_Model):
    """The places of flash cache misses, from the first interval's start to the last one's end."""

    page_bytes: Annotated[int, Field(ge=1)] = 4096
    misses: dict[Annotated[str, Field(pattern=r"^0x[0-9a-f]{8}$")], _Count] = {}
    """By the address at which a page begins."""


class Function(_Model):
    """A function whose place is known for certain."""

    name: Text
    address: Annotated[str, Field(pattern=r"^0x[0-9a-f]{8}$")]
    """Its start, which shows the memory it runs from."""
    bytes: _Count
    misses: _Count = 0
    """Flash cache misses of the function's code, as in `FlashPages`."""
    known_by: Literal["elf", "map", "image"]
    """`image`: found in the image, without a file of names."""
    section: Line = ""
    """Name in the linker map: `.text.f py/vm.o`."""

    @property
    def region(self) -> str:
        return {"1": "flash", "2": "SRAM"}.get(self.address[2], "ROM")


class Attribution(_Model):
    """The time of an emulated row by cause."""

    version: Literal[1] = 1
    spans: Spans = Field(default_factory=Spans)
    """Timed by the workload: messages, loops."""
    stages: Spans = Field(default_factory=Spans)
    """The way to ready: `boot`, then as far as the client goes `link`, `address`, `connect`."""
    spi_hz: _Count | None = None
    """The network chip's SPI clock as programmed at the end of the run."""
    clk_sys_hz: _Count | None = None
    flash_hz: _Count | None = None
    """The clock at which the flash is read."""
    miss_cycles: _Count | None = None
    """Cycles of clk_sys that a flash cache miss takes."""
    next_line_cycles: _Count | None = None
    """On an RP2350, cycles of a miss of the line after the one that was filled last."""
    flash_pages: FlashPages = Field(default_factory=FlashPages)
    functions: list[Function] = []
    """Functions with most misses, and functions in SRAM, if their names are known."""

    def span(self, index: int) -> Attribution:
        """That of one span alone; the places of misses are known only for all spans together."""
        nowhere = {"flash_pages": FlashPages(), "functions": []}
        return self.model_copy(update={"spans": self.spans.some([index]), **nowhere})
