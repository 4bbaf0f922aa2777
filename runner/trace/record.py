"""Records one exchange of a row, every SPI frame with its time."""

from dataclasses import dataclass
from pathlib import Path

from portbench.boards import BoardError, Ethernet
from portbench.boards.emulated.trace import ExchangeTrace, busiest, exchange_window, slowest_exchange
from portbench.errors import LibraryMissing
from portbench.files import TemporaryFolder, replace_file
from portbench.runner.replayed import ReplayedRow
from portbench.runner.trace.pcapng import write_pcapng
from portbench.runner.trace.vcd import write_vcd


@dataclass(frozen=True)
class Files:
    """Files to write beside the tables. `whole`: from power-up on, not only the exchange.

    A capture always has the whole run.
    """

    vcd: Path | None = None
    perfetto: Path | None = None
    pcap: Path | None = None
    pcapng: Path | None = None
    whole: bool = False

    def named(self) -> list[Path]:
        return [path for path in (self.vcd, self.perfetto, self.pcap, self.pcapng) if path is not None]


def trace_row(
    replayed: ReplayedRow, number: int | None, *, pc_sample_cycles: int = 0, files: Files | None = None
) -> ExchangeTrace:
    """The exchange of this number, from 1; None: the slowest. Raises PortbenchError."""
    row = replayed.planned
    network = row.board.network
    files = files or Files()
    for path, library in ((files.vcd, "vcd"), (files.pcapng, "pcapng"), (files.perfetto, "perfetto")):
        if path is not None:
            LibraryMissing.unless_found(library, "trace", f"--{library}")
    if files.vcd is not None and not isinstance(network, Ethernet):
        raise BoardError(f"--vcd: {row.board.id} has no Ethernet chip whose wires it could show")
    exchange = row.workload.exchange
    with TemporaryFolder("portbench-capture") as scratch:
        capture = files.pcap or (scratch / "frames.pcap" if files.pcapng else None)
        replay, figures, deadline = replayed.replay, replayed.figures, replayed.deadline()
        number = number or slowest_exchange(figures.sessions)
        window = exchange_window(figures.sessions, number)
        recording = replay.capturing(capture).record(figures, window, deadline, pc_sample_cycles=pc_sample_cycles)
        shown = recording
        if files.whole and (files.vcd or files.perfetto):
            shown = replay.record(figures, (0.0, figures.end_us), deadline)
        if files.vcd is not None and isinstance(network, Ethernet):
            write_vcd(files.vcd, shown.records, (shown.start_us, shown.end_us), network, row.label)
        if files.perfetto is not None:
            from portbench.runner.trace.perfetto import perfetto_file

            replace_file(files.perfetto, perfetto_file(shown, replay.intn_pin, exchange))
        if files.pcapng is not None and capture is not None:
            write_pcapng(files.pcapng, capture, busiest(figures.sessions), replay.pc_ip, row.label, exchange)
        return replay.exchange(number, window, recording)
