"""Which rows are measured where: in this process, on boards side by side, by processes of this PC, on a cluster."""

import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from portbench.boards.kinds import AUTO
from portbench.errors import BoardUnavailable, PortbenchError
from portbench.firmware.images import ImageStore
from portbench.results.model import Status
from portbench.runner.bench import Bench, Outcome
from portbench.runner.boards_for import where_for
from portbench.runner.collect import RowDraft
from portbench.runner.jobs.job import Rows, Watch
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.servers import Servers
from portbench.where import Where

_STOP_S: Final = 5.0
"""For the threads of boards to end, once nothing more is wanted of them."""


def usual_parallel(rows: Sequence[PlannedRow]) -> int:
    """Return how many boards to measure at once by default: all cores, if all boards are emulated. Their figures
    do not depend on it; a real board's PC would be late, and so would a hosted port."""
    programs = {(row.entry.id, row.profile.name, row.workload.name) for row in rows if not _is_hosted(row)}
    wheres = {where_for(row) for row in rows}
    if not wheres <= {Where.EMULATED, Where.HOSTED} or any(row.device != AUTO for row in rows):
        return 1
    return max(1, min(os.cpu_count() or 1, len(programs)))


def measure(
    rows: Sequence[PlannedRow],
    options: BenchOptions,
    store: ImageStore,
    logs: Path,
    servers: Servers,
    watch: Watch,
    on: str | None = None,
) -> Rows:
    """Measures `rows`, each of which ends as a row. `logs`: the folder of their logs. `on`: a Dask scheduler's address.

    Closing the iterator ends what still runs. Raises PortbenchError where no row can follow.
    """
    for row in rows:
        if row.lacks is not None:
            yield row, RowDraft(row, where_for(row)).ended(Status.UNSUPPORTED, row.lacks)
    rows = [row for row in rows if row.lacks is None]
    if on is not None:
        from portbench.runner.jobs.cluster import measure_on

        yield from measure_on(on, rows, options, store)
        return

    def bench() -> Bench:
        return Bench(options, store, logs, servers)

    boards, emulated = units_of(rows, options.place.parallel)
    fault = None
    try:
        if options.place.parallel == 1 and boards:
            yield from _measure_here(bench(), [row for unit in boards.values() for row in unit], watch)
        elif boards:
            yield from _measure_on_boards(bench, list(boards.values()), options.place.parallel, watch)
        # A crash of translated code ends its process, so several rows get others.
        if len(emulated) == 1 or (emulated and sys.platform == "emscripten"):
            yield from _measure_here(bench(), emulated, watch)
        elif emulated:
            from portbench.runner.jobs.pool import measure_in_processes

            yield from measure_in_processes(emulated, options, store, logs, options.place.parallel, watch)
    except PortbenchError as error:
        fault = error
    # A hosted row's figures are this PC's, which is then left to it alone. They are a reference, and so come last.
    if hosted := [row for row in rows if _is_hosted(row)]:
        yield from _measure_here(bench(), hosted, watch)
    if fault is not None:
        raise fault


def units_of(rows: Sequence[PlannedRow], parallel: int) -> tuple[Mapping[str, list[PlannedRow]], list[PlannedRow]]:
    """The rows of each board that is driven by one thread alone, and those that any emulated board may measure."""
    boards: dict[str, list[PlannedRow]] = {}
    emulated: list[PlannedRow] = []
    for index, row in enumerate(rows):
        if row.device != AUTO:
            boards.setdefault(row.device, []).append(row)
        elif not _is_hosted(row) and where_for(row) is Where.EMULATED:
            emulated.append(row)
        elif not _is_hosted(row):  # a board that its thread finds
            boards.setdefault(f"board-{index % parallel + 1}", []).append(row)
    return boards, emulated


def _is_hosted(row: PlannedRow) -> bool:
    return row.entry.family.traits.hosted


def _measure_here(bench: Bench, rows: Sequence[PlannedRow], watch: Watch) -> Rows:
    absent: dict[str, Exception] = {}
    """Boards that are not plugged in, of which no row can follow; one of another kind may be."""
    try:
        for row in rows:
            if row.board.id in absent:
                continue
            outcome = bench.measure(row, partial(watch, row))
            yield row, outcome.row
            if isinstance(outcome.fault, BoardUnavailable) and row.device == AUTO:
                absent[row.board.id] = outcome.fault
            elif outcome.fault is not None:
                raise outcome.fault
        if absent:
            raise next(iter(absent.values()))
    finally:
        bench.close()


def _measure_on_boards(
    bench: Callable[[], Bench], units: Sequence[Sequence[PlannedRow]], threads: int, watch: Watch
) -> Rows:
    """A thread for each board, so many at once. They share the servers, which real boards reach at one address."""
    waiting: queue.SimpleQueue[Sequence[PlannedRow]] = queue.SimpleQueue()
    for unit in units:
        waiting.put(unit)
    ended: queue.SimpleQueue[tuple[PlannedRow, Outcome] | Exception | None] = queue.SimpleQueue()
    benches: list[Bench] = []
    over = threading.Event()

    def drive() -> None:
        try:
            while True:
                own = bench()
                benches.append(own)
                try:
                    for row in waiting.get_nowait():
                        if over.is_set():
                            return
                        ended.put((row, own.measure(row, partial(watch, row))))
                finally:
                    own.close()
        except queue.Empty:
            pass
        except Exception as error:
            ended.put(error)
        finally:
            ended.put(None)

    running = [threading.Thread(target=drive, daemon=True) for _ in range(min(threads, len(units)))]
    faults: list[Exception] = []
    try:
        for thread in running:
            thread.start()
        left = len(running)
        while left:
            found = ended.get()
            if found is None:
                left -= 1
            elif isinstance(found, Exception):
                faults.append(found)
            else:
                row, outcome = found
                yield row, outcome.row
                if outcome.fault is not None:
                    raise outcome.fault
        if faults:
            raise faults[0]
    finally:
        over.set()
        for own in benches:
            own.stop()
        for thread in running:
            thread.join(_STOP_S)
