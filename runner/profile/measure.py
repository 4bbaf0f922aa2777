"""Profiles one row's run."""

from portbench.boards.emulated.run import Figures
from portbench.boards.emulated.trace import busiest
from portbench.errors import PortbenchError
from portbench.firmware.uf2 import FLASH_BASE, flash_content
from portbench.runner.profile.model import RunProfile, exact_profile, sampled_profile
from portbench.runner.profile.names import image_symbols
from portbench.runner.profile.recovered import BYTECODE_LOOP, bytecode_loop, call_targets
from portbench.runner.profile.symbols import Symbol, Symbols
from portbench.runner.program import image_store
from portbench.runner.replayed import ReplayedRow

_MOST_BEFORE = 0x1000
_MOST_AFTER = 0x400
_TIMES_SLOWER = 30
"""The most by which following each instruction slows the host down."""


def profile_row(replayed: ReplayedRow, *, samples_hz: int, whole: bool) -> RunProfile:
    """`samples_hz` 0: each instruction. `whole`: from power-up on, else from the first exchange to the last.

    Raises PortbenchError.
    """
    row = replayed.planned
    image = image_store([row.entry]).obtain(row.entry).path
    if image is None:
        raise PortbenchError(f"{row.entry.id}: runs on this PC; profile it with the PC's own tools")
    names = image_symbols(image, replayed.elf)
    run, figures = replayed.finished_run()
    start, count = run.machine.sram
    sram = run.machine.read_sram(start, count), start
    symbols = Symbols(names) if names else recovered_symbols(flash_content(image), *sram)
    del run
    window = (0.0, figures.end_us) if whole else measured_window(figures)
    limit = replayed.deadline(_TIMES_SLOWER)
    raw = replayed.replay.profile(figures, window, limit, samples_hz=samples_hz, starts=symbols.starts)
    title = f"{row.entry.id} {row.profile.name}"
    if samples_hz:
        return sampled_profile(raw, symbols, window, samples_hz, title)
    return exact_profile(raw, symbols, window, title)


def recovered_symbols(flash: bytes, sram: bytes, sram_start: int) -> Symbols:
    """Functions of an image without names: targets of calls, and MicroPython's loop by its table."""
    starts = [*call_targets(flash, FLASH_BASE), *call_targets(sram, sram_start)]
    loop = bytecode_loop(flash)
    if loop is None:
        return Symbols().with_starts(starts)
    near = [start for start in starts if loop.start - _MOST_BEFORE < start <= loop.start]
    begin = max(near, default=loop.start)
    end = min((start for start in starts if loop.end < start), default=loop.end + _MOST_AFTER)
    size = min(end, loop.end + _MOST_AFTER) - begin
    return Symbols([Symbol(begin, size, BYTECODE_LOOP)]).with_starts(starts)


def measured_window(figures: Figures) -> tuple[float, float]:
    """From the first exchange to the last; the whole run of a workload without exchanges."""
    session = busiest(figures.sessions)
    if session is None or len(session.received_us) < 2:
        return 0.0, figures.end_us
    return session.received_us[0], session.received_us[-1]
