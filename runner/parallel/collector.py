"""Several boards at once, each driven by a process of pytest-xdist; the process that was started collects their rows.

Every board is driven by one process alone. Rows travel with their tests' reports and are
written here, one after the other, as they come.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portbench.firmware.images import ImageStore
from portbench.results.model import Row
from portbench.runner.boards_for import AUTO, where_for
from portbench.runner.collect import RowDraft
from portbench.runner.options import BenchOptions
from portbench.runner.parallel.order import Order, Unit
from portbench.runner.parallel.server import LentServers, ServerHub
from portbench.runner.plan import PlannedRow
from portbench.runner.servers import Servers
from portbench.runner.writers import RowSink, native_lock, turns_lock
from portbench.where import Where

ROW_PROPERTY = "portbench_row"
_INPUT = "portbench"
_FAULT = "portbench_fault"


def ask_for_workers(config: pytest.Config, options: BenchOptions) -> None:
    """Has pytest-xdist start as many processes as there are boards to drive. Raises pytest.UsageError."""
    if not config.pluginmanager.hasplugin("xdist"):
        raise pytest.UsageError("--parallel: needs pytest-xdist; install it: pip install pytest-xdist")
    boards = options.parallel if options.devices == (AUTO,) else min(options.parallel, len(options.devices))
    config.option.numprocesses = boards
    config.option.tx = ["popen"] * boards
    config.option.dist = "loadscope"


def usual_parallel(rows: list[PlannedRow], options: BenchOptions) -> int:
    """How many boards are measured at once if nobody says: all cores, where every board is emulated by them. What they
    give does not depend on it; a real board's PC would be late, and so would a hosted port."""
    programs = {_program(run) for run in rows if not run.entry.family.traits.hosted}
    wheres = {where_for(run, options) for run in rows}
    if not wheres <= {Where.EMULATED, Where.HOSTED} or any(run.device != AUTO for run in rows):
        return 1
    return max(1, min(os.cpu_count() or 1, len(programs)))


def is_worker(config: pytest.Config) -> bool:
    """Whether this process drives one of several boards."""
    return hasattr(config, "workerinput")


def board_scheduler(
    config: pytest.Config, log: Any, rows: list[PlannedRow], options: BenchOptions, store: ImageStore
) -> object:
    """Gives all rows of a named board to one process, and each emulated row to the one that `Order` says.

    In the place of xdist's own `loadgroup`, which finds no groups with pytest 9.2: its processes name them in an
    attribute of test items that is no longer there.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    scopes, units = units_of(rows, options, store)
    order = Order(units)

    class BoardScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scopes[_parameter(nodeid)]

        def _assign_work_unit(self, node: Any) -> None:
            unit = order.next(node, self.workqueue)
            if unit is not None:
                self.workqueue.move_to_end(unit, last=False)
                super()._assign_work_unit(node)

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][scope].values()) and order.ended(scope):
                for other in [each for each in self.nodes if each is not node] * 2:  # one to measure, and one behind it
                    self._reschedule(other)

    return BoardScheduling(config, log)


def units_of(
    rows: list[PlannedRow], options: BenchOptions, store: ImageStore
) -> tuple[dict[str, str], dict[str, Unit]]:
    """The unit of each row, by the row's id, and what each unit is. Larger images take longer: to flash, to start, and,
    as it is, to run."""
    scopes: dict[str, str] = {}
    units: dict[str, Unit] = {}
    for index, run in enumerate(rows):
        if run.entry.family.traits.hosted:  # they share this PC's own address, by which its server tells clients apart
            scopes[run.id], unit = "hosted", Unit("hosted", alone=True)
        elif run.device != AUTO:
            scopes[run.id], unit = run.device, Unit(run.device)
        elif where_for(run, options) is Where.EMULATED:
            scopes[run.id], unit = run.id, Unit(_program(run), weight=store.bytes_at_hand(run.entry))
        else:  # a board that whoever measures finds
            board = f"board-{index % options.parallel + 1}"
            scopes[run.id], unit = board, Unit(board)
        units.setdefault(scopes[run.id], unit)
    return scopes, units


def _program(run: PlannedRow) -> str:
    """Runs with the same are of one program, which is flashed and deployed once."""
    return f"{run.entry.id} {run.profile.name} {run.workload.name}"


class WorkerRows:
    """Stands in for the run file in a worker: the row goes with the test's report."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, row: Row) -> None:
        pass

    def finish(self) -> None:
        pass


def as_worker(config: Any, options: BenchOptions) -> BenchOptions:
    """The options of a process that drives one of several boards: how many there are, nobody may have said."""
    return replace(options, parallel=config.workerinput[_INPUT]["parallel"])


def worker_parts(config: Any, options: BenchOptions) -> tuple[RowSink, Servers]:
    """What a worker's bench writes to and which servers it uses."""
    given = config.workerinput[_INPUT]
    return WorkerRows(Path(given["path"])), LentServers(options, given["servers"])


def report_fault(config: Any, fault: str) -> None:
    """Tell the collecting process what went wrong after the last row."""
    config.workeroutput[_FAULT] = fault


class Collector:
    """The started process's side: hands out what workers need, and takes in what they measured."""

    def __init__(self, options: BenchOptions, rows: list[PlannedRow], writer: RowSink) -> None:
        self._options = options
        self._waiting = {run.id: run for run in rows}
        self._writer = writer
        self.servers = Servers(options)
        self._hub = ServerHub(self.servers)
        self.faults: list[str] = []

    def hand_out(self, node: Any) -> None:
        """To a worker that is about to start."""
        node.workerinput[_INPUT] = {
            "path": str(self._writer.path),
            "servers": self._hub.ticket,
            "parallel": self._options.parallel,
        }

    def take(self, report: pytest.TestReport) -> tuple[PlannedRow, Row] | None:
        """The row of a report, stored; None for a report that ends no row.

        A worker that died has no row: then it is a failed one that says so.
        """
        run = self._waiting.get(_parameter(report.nodeid))
        if run is None:
            return None
        found = next((value for name, value in report.user_properties if name == ROW_PROPERTY), None)
        if found is not None:
            row = Row.model_validate_json(str(found))
        elif report.failed:
            said = " ".join(str(report.longrepr).split())
            row = RowDraft(run, self._options, where_for(run, self._options)).failed(said, [])
        else:
            return None
        del self._waiting[run.id]
        self._writer.append(row)
        return run, row

    def worker_ended(self, node: Any) -> None:
        fault = getattr(node, "workeroutput", {}).get(_FAULT)
        if fault:
            self.faults.append(fault)

    def close(self) -> None:
        """Ends the servers and removes what only the workers needed."""
        self._hub.close()
        for lock in (native_lock(self._writer), turns_lock(self._writer)):
            lock.unlink(missing_ok=True)
        self.servers.close()


def _parameter(nodeid: str) -> str:
    """`tests/bench/test_runtime.py::test_runtime[ID]@group` -> `ID`"""
    return nodeid.partition("[")[2].rpartition("]")[0]
