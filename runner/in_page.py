"""Measures rows in a browser's page: the same plan, clients, conversations and checks as `portbench run`, on a board in
this process. `engine/web/page/bench.ts` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from portbench.boards import Board, Deadline
from portbench.results.environment import describe_machine
from portbench.results.model import Row, RunFile
from portbench.runner.bench import Bench
from portbench.runner.boards_for import Listener, direct_board
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import image_store
from portbench.where import Where

LOGS: Final = Path("/tmp/portbench-page")
Doing = Callable[[str, str], None]
"""Called with a row's label and its present stage."""


def open_direct(
    row: PlannedRow, where: Where, options: BenchOptions, deadline: Deadline, listener: Listener, patient: bool
) -> Board:
    """As `boards_for.open_board`, for emulated boards alone."""
    return direct_board(row.board, options)


def measure(runtimes: Sequence[str], asked: Mapping[str, Any], doing: Doing = lambda label, stage: None) -> RunFile:
    """The rows of `runtimes` with the options `asked`, as `runner.options.read_options` takes them. Raises
    PortbenchError."""
    told = {"where": "emulated", **asked, "runtime": list(runtimes)}
    options = replace(read_options(told), parallel=1)
    rows = plan(options)
    run = RunFile(started_utc=datetime.now(UTC), name=options.name, machine=describe_machine())
    bench = Bench(options, image_store([row.entry for row in rows]), LOGS, opener=open_direct)
    measured: list[Row] = []
    try:
        for row in rows:
            outcome = bench.measure(row, partial(doing, row.label))
            measured.append(outcome.row.model_copy(update={"log": None}))
            if outcome.fault is not None:
                raise outcome.fault
    finally:
        bench.close()
    return run.model_copy(update={"rows": measured, "finished_utc": datetime.now(UTC)})
