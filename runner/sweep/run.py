"""A sweep, measured into the run file of its name, with its table, its chart and its diminishing returns.

A sweep that was stopped goes on where it was; one that is done measures only rows that are new.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from portbench.console import console, plain_table, shown
from portbench.engine import needs_engine
from portbench.errors import OptionError
from portbench.results.cells import figure
from portbench.results.model import Row, RunFile, Status
from portbench.results.storage import RunWriter
from portbench.runner.jobs.run import Run, new_run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import ALL, PlannedRow
from portbench.runner.progress import ProgressView
from portbench.runner.settings import Axis
from portbench.runner.sweep.chart import FORMATS, chart_axis, check_installed, diminishing_returns, draw
from portbench.runner.sweep.plan import Job, Point, curves, plan_sweep, points_of, told

_MOST_LINES: Final = 100


class SweepRun:
    """The sweep that `asked` and the `options` read from it describe, as the user sees it."""

    def __init__(
        self, asked: Mapping[str, Any], options: BenchOptions, x: str | None = None, chart: str | None = None
    ) -> None:
        """`x`: the axis that goes along the chart. `chart`: the chart's file. Raises PortbenchError."""
        if not asked.get("parallel"):
            options = options.but(parallel=os.cpu_count() or 1)
        self._sweep = plan_sweep(options)
        self._along = chart_axis(self._sweep.axes, x)
        self._options = options.but(where="emulated", name=options.output.name or _name(asked))
        stem = f"{self._options.output.name}".replace("/", "-")
        self._path = options.output.results_dir / "sweeps" / f"{stem}.jsonl"
        self._chart = Path(chart) if chart else self._path.with_name(f"{stem}.svg")
        if self._chart.suffix not in FORMATS:
            raise OptionError(f"--chart {chart}: a chart is one of {', '.join(FORMATS)}; choose such a name")
        for name, reason in self._sweep.missing.items():
            click.echo(f"skipped {name}: {reason}", err=True)

    @property
    def rows(self) -> list[PlannedRow]:
        return [job.row for job in self._sweep.jobs]

    @property
    def size(self) -> str:
        axes = (f"{axis.name} {' '.join(map(told, axis.values))}" for axis in self._sweep.axes)
        return f"{len(self.rows)} rows, {len({row.entry.id for row in self.rows})} images; axes: {', '.join(axes)}"

    def measure(self, on: str | None, as_json: bool) -> tuple[RunFile, int]:
        """Measures the rows that are not there already and shows all of them; gives the run and the command's status.

        `on`: the address of a Dask scheduler. Raises PortbenchError, and KeyboardInterrupt with the rows on disk.
        """
        check_installed()
        if on is None:
            needs_engine()
        jobs = self._sweep.jobs
        with contextlib.closing(
            RunWriter(new_run(self._options), self._options.output.results_dir, self._path)
        ) as writer:
            due = [job for job in jobs if not _is_measured(writer.row_of(job.id))]
            if len(due) < len(jobs):
                click.echo(f"{len(jobs) - len(due)} of {len(jobs)} rows are there already", err=True)
            faults = self._measure(due, on, writer) if due else []
            required = self._options.output.required
            faults += [
                f"{name}: is required, and was skipped: {reason}"
                for name, reason in self._sweep.missing.items()
                if name in required or ALL in required
            ]
            for fault in faults:
                click.echo(shown(fault), err=True)
            self._show([(job, row) for job in jobs if (row := writer.row_of(job.id)) is not None], as_json)
            click.echo(f"rows: {self._path}", err=as_json)
            return writer.run, int(bool(faults) or not all(_is_measured(writer.row_of(job.id)) for job in due))

    def _measure(self, due: Sequence[Job], on: str | None, writer: RunWriter) -> list[str]:
        """Gives the reasons why rows were not measured."""
        view = ProgressView(len(due), brief=True)
        places = {job.id: place for place, job in enumerate(self._sweep.jobs)}
        jobs = {job.id: places[job.id] for job in due}
        with Run([job.row for job in due], self._options, on, view, writer, jobs) as run:
            try:
                for _ in run.measured():
                    pass
            except KeyboardInterrupt:
                click.echo("stopped; the same command goes on from here", err=True)
                raise
        return run.faults

    def _show(self, rows: Sequence[tuple[Job, Row]], as_json: bool) -> None:
        points, axes, name = points_of(rows), self._sweep.axes, f"{self._options.output.name}"
        if not points:
            return
        all_curves = curves(points, axes)
        bends = diminishing_returns(all_curves)
        if as_json:
            told_points = [
                {**point.at, "figure": point.headline.name, "unit": point.headline.unit, "values": point.values}
                for point in points
            ]
            told_bends = [
                {"axis": each.curve.axis, "at": each.at.at, "brought": each.brought, "left": each.left}
                for each in bends
            ]
            document = {"name": name, "points": told_points, "diminishing_returns": told_bends}
            click.echo(json.dumps(document, indent=1))
        else:
            title = name if len(points) <= _MOST_LINES else f"{name}: the best {_MOST_LINES} of {len(points)} points"
            console().print(plain_table(title, _columns(axes, points), _lines(axes, points), folding=()))
            for bend in bends[:_MOST_LINES]:
                click.echo(bend.sentence)
        if self._along in {curve.axis for curve in all_curves}:  # one point alone makes none
            title = f"{points[0].rows[0].workload}: {points[0].headline.unit} by {self._along}\n"
            fixed = [f"{axis.name} {told(axis.values[0])}" for axis in axes if len(axis.values) == 1]
            left_out = draw(self._chart, title + ", ".join(fixed), self._along, all_curves, axes, bends)
            click.echo(f"chart: {self._chart}" + (f" ({left_out})" if left_out else ""), err=as_json)


def _is_measured(row: Row | None) -> bool:
    return row is not None and row.status is Status.MEASURED


def _name(asked: Mapping[str, Any]) -> str:
    """Name a sweep by its options, in whatever order they were given."""
    idle = ("parallel", "where", "required", "results_dir")
    decides = {name: value for name, value in asked.items() if value and name not in idle}
    decides["setting"] = sorted(asked["setting"])
    what = json.dumps(decides, sort_keys=True, default=str)
    return f"sweep-{hashlib.sha256(what.encode()).hexdigest()[:8]}"


def _columns(axes: Sequence[Axis], points: Sequence[Point]) -> tuple[str, ...]:
    unit = points[0].headline.unit
    real = ("SPI MHz real",) if any(point.rows[0].conditions.spi_hz_actual for point in points) else ()
    return (*_varying(axes, points), *real, unit, "of the best")


def _lines(axes: Sequence[Axis], points: Sequence[Point]) -> list[tuple[str, ...]]:
    """In the order of the axes' values; of very many the best."""
    better = points[0].headline.better == "higher"
    best = (max if better else min)(point.value for point in points)
    chosen = list(points)
    if len(chosen) > _MOST_LINES:
        chosen = sorted(chosen, key=lambda point: point.value, reverse=better)[:_MOST_LINES]
    else:
        places = {axis.name: {told(value): place for place, value in enumerate(axis.values)} for axis in axes}
        chosen.sort(key=lambda point: [places[name].get(told(value), -1) for name, value in point.at.items()])
    with_real = "SPI MHz real" in _columns(axes, points)
    found = []
    for point in chosen:
        actual = point.rows[0].conditions.spi_hz_actual
        real = (f"{actual / 1e6:.4g}" if actual else "",) if with_real else ()
        share = point.value / best if better else best / point.value
        at = (told(point.at[name]) for name in _varying(axes, points))
        found.append((*at, *real, figure(point.value), f"{share * 100:.3g} %"))
    return found


def _varying(axes: Sequence[Axis], points: Sequence[Point]) -> list[str]:
    """The axes with several values among the points; the others are in the title."""
    return [axis.name for axis in axes if len({told(point.at[axis.name]) for point in points}) > 1]
