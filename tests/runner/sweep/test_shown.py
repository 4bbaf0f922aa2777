"""Random sweeps without the engine: their tables, JSON, bends and charts."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from portbench.results.model import Row
from portbench.runner.options import BenchOptions
from portbench.runner.settings import read_settings
from portbench.runner.sweep.chart import chart_axis
from portbench.runner.sweep.plan import Job, Sweep
from portbench.runner.sweep.run import SweepRun
from tests.conftest import needs
from tests.ping_pong import PING_PONG
from tests.results.rows import missing, other_row, row
from tests.walk import Walk

pytestmark = [
    pytest.mark.slow,
    needs("kneed", "kneed is not installed"),
    needs("matplotlib", "matplotlib is not installed"),
]
AXES = (
    ("spi_hz=1M,2M,4M,8M,16M,32M", "spi_hz=9999,10k", "spi_hz=12345,1.5M"),
    ("", "turnaround_us=0,50,100,200,400,800,1600", "turnaround_us=0,1"),
    ("", "intn=no,yes"),
    ("", "", "runtime=a.uf2,b.uf2", "profile=tuned,as-published,own"),
    ("", "messages=7,9", "messages=7"),
)


def drawn(figure: Any) -> list[Any]:
    """Return the words, lines and scales of a chart."""
    seen: list[Any] = [figure.get_suptitle(), [each.get_text() for key in figure.legends for each in key.get_texts()]]
    for plot in figure.axes:
        lines = [
            (line.get_label(), [float(x) for x in line.get_xdata()], [f"{y:.6g}" for y in line.get_ydata()])
            for line in plot.lines
            if isinstance(line.get_xdata(), list)
        ]
        words = [plot.get_title(), plot.get_xlabel(), plot.get_ylabel(), *(text.get_text() for text in plot.texts)]
        limits = [f"{each:.6g}" for each in plot.get_ylim()]
        look = [str(line.get_color()) for line in plot.lines]
        seen.append((words, lines, look, plot.axison, plot.get_xscale(), limits, len(plot.collections)))
    return seen


def test_random_sweeps_are_shown_as_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    walk, figures = Walk(6), list[Any]()
    pick = walk.pick
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, path, **_: figures.append(self))
    monkeypatch.setenv("COLUMNS", "120")
    for _ in range(16):
        axes = list(read_settings([text for each in AXES if (text := pick(each))], [PING_PONG]).values())
        make, rows = pick((row, row, other_row)), list[tuple[Job, Row]]()
        for number, values in enumerate(itertools.product(*(axis.values for axis in axes))):
            at = dict(zip((axis.name for axis in axes), values, strict=True))
            if at.get("runtime") == "b.uf2":
                at["intn"] = None  # which it does not heed
            job = Job(f"{number}", None, {name: at[name] for name in [axis.name for axis in axes]})  # type: ignore[arg-type]
            each_us = 100 + 8e8 / at["spi_hz"] + at.get("turnaround_us", 0) + 7 * number
            real = {"spi_hz_actual": pick((at["spi_hz"], None))}
            for _ in range(pick((1, 1, 1, 3))):
                ended = make(each_us * pick((1, 1.01)), conditions=real)
                rows.append((job, ended if pick((True,) * 9 + (False,)) else missing("x", "failed", "no")))
        sweep = SweepRun.__new__(SweepRun)
        sweep._sweep, sweep._along, sweep._chart = Sweep(axes, []), chart_axis(axes, None), tmp_path / "c.svg"
        sweep._options = BenchOptions().but(name="s")
        sweep._show(rows, as_json=pick((True, False)))
        said = capsys.readouterr()
        walk.note(said.out.replace(str(tmp_path), ""), said.err.replace(str(tmp_path), ""), *map(drawn, figures))
        figures.clear()
    assert walk.checksum == "045e2a12d4ee2fd8"
