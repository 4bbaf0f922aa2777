"""Measure along axes: every combination of values, on all cores, with a table, a chart and its knees.

AXIS is NAME=VALUES, as spi_hz=1M..32M*2 (1, 2, 4 ... 32 MHz), turnaround_us=0..1000+250, intn=no,yes, messages=100 or
runtime=micropython-1.28.0,./my.uf2: what a profile sets, what is around the board, and the workload's settings. A sweep
that was stopped goes on where it was; one that is done measures only what is new.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from portbench.console import console, plain_table
from portbench.engine import needs_engine
from portbench.errors import OptionError
from portbench.results.environment import describe_machine, git_state, tool_versions
from portbench.results.model import Row, RunFile, Status
from portbench.results.storage import RESULTS_FOLDER, RunWriter
from portbench.runner.bench import TOOLS
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_options, given
from portbench.runner.interruptions import Interruptions
from portbench.runner.jobs.job import Job
from portbench.runner.jobs.local import Rows
from portbench.runner.options import read_options
from portbench.runner.plugin import PROJECT
from portbench.runner.sweep.chart import FORMATS, chart_axis, draw
from portbench.runner.sweep.knees import knees
from portbench.runner.sweep.plan import Sweep, plan_sweep
from portbench.runner.sweep.points import curves, points_of, told
from portbench.runner.sweep.store import SweepStore
from portbench.runner.sweep.view import MOST_LINES, columns, lines, progress


@click.command()
@click.argument("axes", metavar="AXIS...", nargs=-1, required=True)
@bench_options("board", "family", "runs", "attribute", "parallel", "results_dir")
@click.option("--workload", metavar="NAME", help="what to measure (default ping_pong)")
@click.option("--name", metavar="NAME", help="what to call the sweep, to go on with it (default: made of its axes)")
@click.option("--on", metavar="ADDRESS", help="a Dask scheduler, as tcp://HOST:8786: measure on its workers")
@click.option("--x", metavar="AXIS", help="which axis goes along the chart (default: that with most numbers)")
@click.option("--chart", metavar="FILE", help="where the chart goes, .svg, .png or .pdf (default: beside the rows)")
@click.option("--dry-run", is_flag=True, help="say how many rows that would be, and measure none")
@click.option("--json", "as_json", is_flag=True, help="print the points for programs")
def COMMAND(
    axes: tuple[str, ...],
    workload: str | None,
    name: str | None,
    on: str | None,
    x: str | None,
    chart: str | None,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> int:
    asked = (
        given(values)
        | {"setting": list(axes)}
        | ({"workload": [workload]} if workload else {})
        | ({"name": name} if name else {})
    )
    with one_line():
        options = read_options(asked, sweeps=True)
        folder = Path(asked.get("results_dir") or RESULTS_FOLDER)
        processes = options.parallel if "parallel" in asked else os.cpu_count() or 1
        sweep = plan_sweep(options)
        along = chart_axis(sweep.axes, x)
        called = name or _name(sweep, axes, asked)
        picture = Path(chart) if chart else folder / "sweeps" / f"{called.replace('/', '-')}.svg"
        if picture.suffix not in FORMATS:
            raise OptionError(f"--chart {picture}: a chart is one of {', '.join(FORMATS)}; choose such a name")
        for each in sweep.missing:
            click.echo(f"skipped {each}", err=True)
        if dry_run:
            click.echo(f"{len(sweep.jobs)} rows, {len(sweep.images)} images; axes: {_axes_told(sweep)}")
            return 0
        if on is None:
            needs_engine()
        with contextlib.closing(SweepStore(folder, called)) as store:
            due = [job for job in sweep.jobs if store.row_of(job) is None]
            status = _measure(due, sweep, store, on, processes)
            rows = [(job, row) for job in sweep.jobs if (row := store.any_row_of(job)) is not None]
            if due and status == 0:
                _keep(called, folder, [row for _, row in rows])
            _show(called, sweep, rows, along, picture, as_json)
            click.echo(f"rows: {store.path}", err=as_json)
    return status


def _measure(due: list[Job], sweep: Sweep, store: SweepStore, on: str | None, processes: int) -> int:
    """1 where a row failed. Raises KeyboardInterrupt, with what was measured on disk."""
    out = console(stderr=True)
    if len(due) < len(sweep.jobs):
        out.print(f"{len(sweep.jobs) - len(due)} of {len(sweep.jobs)} rows are there already", soft_wrap=True)
    if not due:
        return 0
    failed = False
    interruptions = Interruptions()
    interruptions.listen()
    try:
        with contextlib.closing(_rows(due, sweep, on, processes)) as coming, progress(out, len(due)) as tell:
            for job, row in coming:
                store.append(job, row)
                tell(job, row)
                failed = failed or row.status is not Status.MEASURED
    except KeyboardInterrupt:
        out.print("stopped; the same command goes on from here", soft_wrap=True)
        raise
    finally:
        interruptions.ending()
        interruptions.restore()
    return int(failed)


def _rows(due: list[Job], sweep: Sweep, on: str | None, processes: int) -> Rows:
    if on is None:
        from portbench.runner.jobs.local import measure_here

        return measure_here(due, sweep.images, processes)
    from portbench.runner.jobs.cluster import measure_on

    return measure_on(on, due, sweep.images)


def _keep(name: str, folder: Path, rows: list[Row]) -> None:
    """The sweep as a run file, which `compare` and `show` take."""
    run = RunFile(
        started_utc=datetime.now(UTC),
        finished_utc=datetime.now(UTC),
        name=name,
        machine=describe_machine(),
        tools=tool_versions(TOOLS),
        git=git_state(PROJECT),
        rows=rows,
    )
    RunWriter(run, folder)


def _show(
    name: str, sweep: Sweep, rows: list[tuple[Job, Row]], along: str | None, picture: Path, as_json: bool
) -> None:
    points = points_of(rows)
    if not points:
        return
    all_curves = curves(points, sweep.axes)
    found = knees(all_curves)
    if as_json:
        told_points = [
            {**point.at, "figure": point.headline.name, "unit": point.headline.unit, "values": point.values}
            for point in points
        ]
        told_knees = [
            {"axis": each.curve.axis, "at": each.at.at, "brought": each.brought, "left": each.left} for each in found
        ]
        click.echo(json.dumps({"name": name, "points": told_points, "knees": told_knees}, indent=1))
    else:
        title = name if len(points) <= MOST_LINES else f"{name}: the best {MOST_LINES} of {len(points)} points"
        console().print(plain_table(title, columns(sweep.axes, points), lines(sweep.axes, points), folding=()))
        for knee in found[:MOST_LINES]:
            click.echo(knee.sentence)
    if along is not None:
        title = f"{points[0].rows[0].workload}: {points[0].headline.unit} by {along}\n"
        fixed = [f"{axis.name} {told(axis.values[0])}" for axis in sweep.axes if len(axis.values) == 1]
        left_out = draw(picture, title + ", ".join(fixed), along, all_curves, sweep.axes, found)
        click.echo(f"chart: {picture}" + (f" ({left_out})" if left_out else ""), err=as_json)


def _axes_told(sweep: Sweep) -> str:
    return ", ".join(f"{axis.name} {' '.join(map(told, axis.values))}" for axis in sweep.axes)


def _name(sweep: Sweep, texts: tuple[str, ...], asked: dict[str, Any]) -> str:
    what = json.dumps([sorted(texts), {name: asked[name] for name in sorted(asked) if name != "parallel"}], default=str)
    return f"sweep-{hashlib.sha256(what.encode()).hexdigest()[:8]}"
