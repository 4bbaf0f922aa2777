"""Workloads that move many bytes on one connection, which the board opens: the PC's part, and shared settings.

The board announces each transfer by a line, `up WRITE TOTAL`, `down WRITE TOTAL`, `echo WRITE TOTAL` or
`both WRITE TOTAL`, and closes at the end. Up: the board sends TOTAL bytes, and the PC says `done` once all have come.
Down: the PC sends them. Echo: the PC sends the bytes back. Both: down and up at once, with `done` behind. Byte k of a
transfer is `k % WRITE % 256`, as if one block of WRITE bytes were sent again and again; with WRITE 0 the board may send
any bytes. A client without a console sends its report after the last transfer.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from portbench.workloads.conversation import FIRST_BYTE, ConversationError, ReportedConversation, shown
from portbench.workloads.figures import Measurement, Spent, Timed
from portbench.workloads.native import Native
from portbench.workloads.result import BadResult
from portbench.workloads.served import Served
from portbench.workloads.session import Session
from portbench.workloads.settings import WorkloadSettings, each_number, number_list

DONE: Final = b"done"
MOST_BYTES: Final = 4 << 20
"""The largest transfer."""
WRITES: Final = 256
"""The most writes of a transfer; the bodies have the same limit."""
WriteSizes = Annotated[str, number_list(1, 16_384)]
_LONGEST_LINE: Final = 32
_LINE: Final = re.compile(rb"(up|down|echo|both) ([0-9]{1,7}) ([0-9]{1,7})")
_NO_MEMORY: Final = re.compile(r"MemoryError\('memory allocation failed, allocating ([0-9]{1,9}) bytes',?\)")


def block(write_bytes: int) -> bytes:
    """The block that a board sends again and again."""
    return bytes(range(256)) * (write_bytes // 256) + bytes(range(write_bytes % 256))


class TransferSettings(WorkloadSettings):
    """`transfer_bytes`: size of one transfer. `writes`: bytes of one write, each in separate transfers."""

    transfer_bytes: int
    writes: WriteSizes

    @property
    def sizes(self) -> list[int]:
        return each_number(self.writes)

    def total(self, size: int) -> int:
        """Bytes of a transfer in writes of `size`."""
        return max(1, min(self.transfer_bytes // size, WRITES)) * size


class Transfers(ReportedConversation):
    """An exchange is one whole transfer."""

    def __init__(self) -> None:
        super().__init__()
        self._line = bytearray()
        self._kind = b""
        self._total = 0
        self._came = 0
        self._expected: bytes | None = None
        self._reports = False

    def receive(self, data: bytes) -> bytes:
        answers: list[bytes] = []
        while data:
            if not self._kind and not self._line and data[0] == FIRST_BYTE and self.exchanges:
                self._reports = True
            if self._reports:
                self.receive_report(data, "its report")
                break
            data = self._transferred(data, answers) if self._kind else self._announced(data, answers)
        return b"".join(answers)

    def eof(self) -> None:
        if self._line or self._kind:
            raise ConversationError(f"the board closed within transfer {self.exchanges + 1}, after {self._came} bytes")
        if not self.exchanges:
            raise ConversationError("the board closed without a transfer")
        super().eof()

    def _announced(self, data: bytes, answers: list[bytes]) -> bytes:
        line, newline, rest = data.partition(b"\n")
        self._line += line
        if len(self._line) > _LONGEST_LINE:
            raise self._fault(f"is announced by {shown(bytes(self._line))}", answers)
        if not newline:
            return b""
        announced = bytes(self._line)
        self._line.clear()
        found = _LINE.fullmatch(announced)
        if found is None or not 0 < int(found[3]) <= MOST_BYTES or int(found[2]) > MOST_BYTES:
            raise self._fault(f"is announced by {shown(announced)}", answers)
        self._begin(found[1], int(found[2]), int(found[3]))
        if self._kind in (b"down", b"both"):
            assert self._expected is not None
            answers.append(self._expected[: self._total])
        if self._kind == b"down":
            self._end()
        return rest

    def _begin(self, kind: bytes, write_bytes: int, total: int) -> None:
        self._kind, self._total, self._came = kind, total, 0
        whole = block(write_bytes or 1)
        self._expected = whole * -(-total // len(whole)) if write_bytes or kind in (b"down", b"both") else None

    def _transferred(self, data: bytes, answers: list[bytes]) -> bytes:
        taken = data[: self._total - self._came]
        if self._expected is not None and self._expected[self._came : self._came + len(taken)] != taken:
            raise self._fault(f"is wrong within its bytes from {self._came} on: {shown(taken)}", answers)
        self._came += len(taken)
        if self._kind == b"echo":
            answers.append(taken)
        if self._came == self._total:
            if self._kind in (b"up", b"both"):
                answers.append(DONE)
            self._end()
        return data[len(taken) :]

    def _end(self) -> None:
        self._kind, self._expected, self._came = b"", None, 0
        self.exchanges += 1

    def _fault(self, text: str, answers: list[bytes]) -> ConversationError:
        return ConversationError(f"transfer {self.exchanges + 1} {text}", b"".join(answers))


class TransferWorkload(Served, Native):
    """A workload of transfers with several sizes of writes."""

    ways: ClassVar[Mapping[str, int]]
    """Number of times that the bytes of a transfer are payload on the network, by its way."""
    both_count: ClassVar[bool] = False
    """Rates count the payload as often; otherwise once."""
    exchange = "transfer"
    quick_settings: ClassVar[Mapping[str, Any]] = {"transfer_bytes": 2048, "writes": "256,1024"}

    @abstractmethod
    def transfers(self, result: Mapping[str, Any]) -> Sequence[tuple[str, int, int, int]]:
        """Way, bytes of a write, bytes in all and microseconds on the board's clock. Raises BadResult."""

    def expected(self, result: Mapping[str, Any], settings: TransferSettings) -> Mapping[str, Any]:
        """A result whose MemoryError is of a whole write, sent or received, says that the port lacks this size."""
        refused = _NO_MEMORY.fullmatch(str(result.get("error", "")))
        asked = [size for size in settings.sizes if refused is not None and size <= int(refused[1])]
        if not asked:
            return result
        lacks = f"unsupported: this port has no memory for writes of {max(asked)} bytes; choose smaller ones, -s writes"
        return {**result, "error": repr(OSError(lacks))}

    def check(
        self, result: Mapping[str, Any], settings: TransferSettings, sessions: Sequence[Session] = ()
    ) -> Measurement:
        made = self.transfers(result)
        due = [(way, size, settings.total(size)) for size in settings.sizes for way in self.ways]
        if (said := [(way, size, total) for way, size, total, _ in made]) != due:
            wrong = next((each for each, wanted in zip(said, due, strict=False) if each != wanted), None)
            raise BadResult(f"the client made {len(said)} transfers, not {len(due)}, or not as asked: {wrong}")
        return Measurement(self.derive({f"{way}_{size}_us": float(us) for way, size, _, us in made}, settings))

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        made = enumerate(self.transfers(result))
        return [Timed(f"{way}_{size}", us, exchange=number) for number, (way, size, _, us) in made]

    def derive(self, figures: Mapping[str, float], settings: TransferSettings) -> dict[str, float]:
        """Add the rates of all transfers, and the best of each way."""
        derived = dict(figures)
        for way, times in self.ways.items():
            bits = {size: settings.total(size) * 8 * (times if self.both_count else 1) for size in settings.sizes}
            rates = {size: bits[size] / figures[key] for size in bits if (key := f"{way}_{size}_us") in figures}
            derived |= {f"{way}_{size}_mbit_s": rate for size, rate in rates.items()}
            if rates:
                best = max(rates, key=lambda size: rates[size])
                derived |= {f"{way}_mbit_s": rates[best], f"{way}_best_write_bytes": float(best)}
        return derived

    def spent(self, intervals: Sequence[Spent], settings: TransferSettings) -> dict[str, float]:
        figures: dict[str, float] = {}
        for each in intervals:
            way, _, size = each.name.rpartition("_")
            payload = self.ways[way] * settings.total(int(size))
            figures[f"{each.name}_waits_percent"] = 100 * each.waits
            figures[f"{each.name}_spi_bytes_per_byte"] = each.spi_bytes / payload
        return figures

    def exchanges(self, settings: TransferSettings) -> int:
        return len(self.ways) * len(settings.sizes)

    def native_settings(self, settings: TransferSettings) -> list[int]:
        return [len(settings.sizes), settings.transfer_bytes, *settings.sizes]

    def conversation(self, max_bytes: int) -> Transfers:
        return Transfers()
