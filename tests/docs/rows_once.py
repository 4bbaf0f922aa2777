"""Rows measured once for all commands of the pages, on emulated boards in this process; hosted ports are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from portbench.boards import Board, BoardUnavailable, Deadline
from portbench.firmware.images import ImageStore
from portbench.results.model import Row
from portbench.runner.bench import Bench
from portbench.runner.boards_for import Listener, direct_board, open_board
from portbench.runner.collect import surroundings
from portbench.runner.jobs.job import Rows, Watch
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.servers import Servers
from portbench.where import Where

_measured: dict[str, Row] = {}


def measure(
    rows: Sequence[PlannedRow],
    options: BenchOptions,
    store: ImageStore,
    logs: Path,
    servers: Servers,
    watch: Watch,
    on: str | None = None,
) -> Rows:
    """As `runner.jobs.measure.measure`; of runs that differ only in their number, and of rows that an earlier command
    measured, one is measured and the others are equal to it."""
    assert on is None
    # A bench keeps its board from row to row, and a pair's is of another kind.
    alone, paired = (Bench(options, store, logs, servers, opener=_open) for _ in range(2))
    try:
        for row in rows:
            key = _key(row, options)
            if key not in _measured:
                bench = alone if row.partner is None else paired
                outcome = bench.measure(row, lambda stage, row=row: watch(row, stage))  # type: ignore[misc]
                if outcome.fault is not None:
                    raise outcome.fault
                _measured[key] = outcome.row
            yield row, _measured[key].model_copy(update={"run_index": row.number - 1, "log": None})
    finally:
        alone.close()
        paired.close()


def _key(row: PlannedRow, options: BenchOptions) -> str:
    """All that decides a row's figures, but the number of its run."""
    conditions = (options.where, options.address_mode, options.access_point, options.attribute, options.what_if)
    return repr((replace(row, number=1, of=1), asdict(surroundings(row, options)), conditions))


def _open(
    row: PlannedRow, where: Where, options: BenchOptions, deadline: Deadline, listener: Listener, patient: bool
) -> Board:
    if where is Where.EMULATED and row.partner is None:  # a process has a pair
        return direct_board(row.board, options)
    if where is Where.HOSTED:
        raise BoardUnavailable("tests/hosted measures it")
    return open_board(row, where, options, deadline, listener, patient)
