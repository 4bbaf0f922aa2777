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
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from portbench.console import console, plain_table
from portbench.engine import needs_engine
from portbench.errors import OptionError
from portbench.results.model import Row, Status
from portbench.results.storage import RESULTS_FOLDER, RunWriter
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_options, given
from portbench.runner.jobs.run import Run, new_run
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.progress import ProgressView
from portbench.runner.sweep.chart import FORMATS, chart_axis, draw
from portbench.runner.sweep.knees import knees
from portbench.runner.sweep.plan import Job, Sweep, plan_sweep
from portbench.runner.sweep.points import curves, points_of, told
from portbench.runner.sweep.view import MOST_LINES, columns, lines
from portbench.shown import shown


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
        folder = Path(asked.get("results_dir") or RESULTS_FOLDER)
        options = replace(read_options(asked, sweeps=True), where="emulated")
        sweep = plan_sweep(options)
        if "parallel" not in asked:
            options = replace(options, parallel=os.cpu_count() or 1)
        along = chart_axis(sweep.axes, x)
        called = name or _name(sweep, axes, asked)
        stem = called.replace("/", "-")
        picture = Path(chart) if chart else folder / "sweeps" / f"{stem}.svg"
        if picture.suffix not in FORMATS:
            raise OptionError(f"--chart {picture}: a chart is one of {', '.join(FORMATS)}; choose such a name")
        for each in sweep.missing:
            click.echo(f"skipped {each}", err=True)
        if dry_run:
            images = {job.row.entry.id for job in sweep.jobs}
            click.echo(f"{len(sweep.jobs)} rows, {len(images)} images; axes: {_axes_told(sweep)}")
            return 0
        if on is None:
            needs_engine()
        kept = folder / "sweeps" / f"{stem}.jsonl"
        with contextlib.closing(RunWriter(new_run(replace(options, name=called)), folder, kept)) as writer:
            due = [job for job in sweep.jobs if not _is_measured(writer.row_of(job.id))]
            if len(due) < len(sweep.jobs):
                click.echo(f"{len(sweep.jobs) - len(due)} of {len(sweep.jobs)} rows are there already", err=True)
            faults = _measure(due, options, on, writer) if due else []
            rows = [(job, row) for job in sweep.jobs if (row := writer.row_of(job.id)) is not None]
            _show(called, sweep, rows, along, picture, as_json)
            click.echo(f"rows: {kept}", err=as_json)
            return int(bool(faults) or not all(_is_measured(writer.row_of(job.id)) for job in due))


def _is_measured(row: Row | None) -> bool:
    return row is not None and row.status is Status.MEASURED


def _measure(due: list[Job], options: BenchOptions, on: str | None, writer: RunWriter) -> list[str]:
    """What kept rows from being measured. Raises KeyboardInterrupt, with what was measured on disk."""
    view = ProgressView(len(due), brief=True)
    with Run([job.row for job in due], options, on, view, writer, [job.id for job in due]) as run:
        try:
            for _ in run.measured():
                pass
        except KeyboardInterrupt:
            click.echo("stopped; the same command goes on from here", err=True)
            raise
    for fault in run.faults:
        click.echo(shown(fault), err=True)
    return run.faults


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
