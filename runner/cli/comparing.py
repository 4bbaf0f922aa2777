"""Runs, limit and table of `compare` and `run --baseline`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from portbench.console import console, plain_table, shown
from portbench.results.compare import Comparison
from portbench.results.compare_table import COLUMNS, HINT, WHY_COLUMNS, lacks_reasons, lines, reasons
from portbench.results.model import RunFile
from portbench.results.storage import RESULTS_FOLDER, find_run
from portbench.runner.cli.options import SETTINGS, bench_options
from portbench.runner.jobs.run import measure_image


class Share(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """A share, written `2%`, `0.5%` or `0.02`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 10:
            self.fail(f"{value!r} is no share; write it as 2% or 0.02", param, context)
        return share


measuring_options = bench_options(
    *("workload", "profile", "board", "where", "runs", *SETTINGS, "parallel", "attribute", "results_dir"),
)
limit_option = click.option(
    "--fail-if-slower", type=Share(), metavar="SHARE", help="end with status 1 if a row takes longer by more, as 2%"
)


def side(text: str, options: Mapping[str, Any]) -> RunFile:
    """The run that `text` names; measure it if it is an image. Raises PortbenchError."""
    if text.lower().endswith(".uf2"):
        return measure_image(Path(text), options)
    return find_run(text, Path(options.get("results_dir") or RESULTS_FOLDER))


def print_comparison(compared: Sequence[Comparison], limit: float | None, out: Console | None = None) -> None:
    """`out`: by default standard output."""
    out = out or console()
    out.print(plain_table("B beside A", COLUMNS, lines(compared, limit), folding=("row", "verdict")))
    for reason in reasons(compared):
        out.print(f"\nWhy, {shown(reason.row)}:", markup=False, soft_wrap=True)
        for sentence in reason.sentences:
            out.print(f"- {sentence}", markup=False, soft_wrap=True)
        title = f"Where the time goes, a {reason.noun} on average"
        out.print(plain_table(title, WHY_COLUMNS, reason.lines, folding=()))
    if lacks_reasons(compared):
        out.print(HINT, markup=False, soft_wrap=True)
