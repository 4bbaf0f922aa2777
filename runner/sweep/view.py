"""What a person sees of a sweep: how far it is and how long it takes yet, then its table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from portbench.results.cells import figure
from portbench.results.model import Row, Status
from portbench.runner.jobs.job import Job
from portbench.runner.settings import Axis
from portbench.runner.sweep.points import Point, told
from portbench.shown import shown

MOST_LINES: Final = 100
_TELL_TIMES: Final = 10


@contextmanager
def progress(console: Console, due: int) -> Iterator[Callable[[Job, Row], None]]:
    """Gives what is to be told of each row: a bar with the time left, or a line for each tenth without a terminal."""
    started_s, done = time.monotonic(), 0
    if not console.is_terminal:

        def tell(job: Job, row: Row) -> None:
            nonlocal done
            done += 1
            _complain(console, job, row)
            if done * _TELL_TIMES // due > (done - 1) * _TELL_TIMES // due:
                left_s = (time.monotonic() - started_s) / done * (due - done)
                console.print(f"[{done}/{due}] {_seconds(left_s)} left", markup=False, soft_wrap=True)

        yield tell
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=due)

        def tell_bar(job: Job, row: Row) -> None:
            _complain(bar.console, job, row)
            bar.advance(task)

        yield tell_bar


def _complain(console: Console, job: Job, row: Row) -> None:
    if row.status is not Status.MEASURED:
        at = " ".join(f"{name}={told(value)}" for name, value in job.point.items())
        console.print(shown(f"{row.status} {job.entry.id} {at}: {row.reason}"), markup=False, soft_wrap=True)


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def columns(axes: Sequence[Axis], points: Sequence[Point]) -> tuple[str, ...]:
    unit = points[0].headline.unit
    real = ("SPI MHz real",) if any(point.rows[0].conditions.spi_hz_actual for point in points) else ()
    return (*_varying(axes, points), *real, unit, "of the best")


def lines(axes: Sequence[Axis], points: Sequence[Point]) -> list[tuple[str, ...]]:
    """In the order of the axes' values; of very many the best."""
    better = points[0].headline.better == "higher"
    best = (max if better else min)(point.value for point in points)
    chosen = list(points)
    if len(chosen) > MOST_LINES:
        chosen = sorted(chosen, key=lambda point: point.value, reverse=better)[:MOST_LINES]
    else:
        places = {axis.name: {told(value): place for place, value in enumerate(axis.values)} for axis in axes}
        chosen.sort(key=lambda point: [places[name].get(told(value), -1) for name, value in point.at.items()])
    with_real = "SPI MHz real" in columns(axes, points)
    found = []
    for point in chosen:
        actual = point.rows[0].conditions.spi_hz_actual
        real = (f"{actual / 1e6:.4g}" if actual else "",) if with_real else ()
        share = point.value / best if better else best / point.value
        at = (told(point.at[name]) for name in _varying(axes, points))
        found.append((*at, *real, figure(point.value), f"{share * 100:.3g} %"))
    return found


def _varying(axes: Sequence[Axis], points: Sequence[Point]) -> list[str]:
    """What is the same in all points is in the title of the table."""
    return [axis.name for axis in axes if len({told(point.at[axis.name]) for point in points}) > 1]
