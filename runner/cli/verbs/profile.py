"""Where a row's cycles go: functions, the memory that they run from, and who misses the flash cache.

Names come from --elf, from an ELF or map file beside the image, or else from what the image tells of itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from portbench.console import console
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import SETTINGS, bench_options, given
from portbench.runner.cli.writable import writable
from portbench.runner.options import read_options
from portbench.runner.plan import plan

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOUND = click.Path(path_type=Path, dir_okay=False, exists=True)
_DEFAULT_HZ = 10_007


@click.command()
@click.argument("runtime", default="portbench-native")
@bench_options("profile", "workload", "board", *SETTINGS, single=True)
@click.option("--elf", type=_FOUND, help="names of functions: the image's ELF file, or its linker map")
@click.option(
    "--sampled", type=click.IntRange(1, 10_000_000), metavar="HZ", help=f"samples a second (default: {_DEFAULT_HZ})"
)
@click.option("--exact", is_flag=True, help="look at each instruction and call, which takes many times as long")
@click.option("--whole", is_flag=True, help="from power-up, and not from the first exchange to the last")
@click.option("--against", metavar="RUNTIME", help="another image: which code runs from where, there and here")
@click.option("--top", type=click.IntRange(1), default=15, show_default=True, help="lines of a table")
@click.option("--speedscope", type=_FILE, help="write the profile there, for speedscope.app")
@click.option("--folded", type=_FILE, help="write folded stacks there, for flame graphs")
def COMMAND(
    runtime: str,
    elf: Path | None,
    sampled: int | None,
    exact: bool,
    whole: bool,
    against: str | None,
    top: int,
    speedscope: Path | None,
    folded: Path | None,
    **values: Any,
) -> None:
    if exact and sampled:
        raise click.UsageError("--exact and --sampled are two ways: give one of them")
    with one_line():
        needs_engine()
        from portbench.runner.profile.compare import compare
        from portbench.runner.profile.export import write_folded, write_speedscope
        from portbench.runner.profile.measure import How, profile_row
        from portbench.runner.profile.view import show, show_comparison

        def profiled(name: str, names: Path | None) -> Any:
            asked = given(values) | {"runtime": [name], "where": "emulated", "runs": "1"}
            bench = replace(read_options(asked), quick=True)
            return profile_row(plan(bench)[0], bench, How(0 if exact else sampled or _DEFAULT_HZ, whole), names)

        writable(path for path in (speedscope, folded) if path is not None)
        profile = profiled(runtime, elf)
        if speedscope is not None:
            write_speedscope(speedscope, profile)
        if folded is not None:
            write_folded(folded, profile)
        out = console()
        if against is None:
            show(profile, top, out)
        else:
            other = profiled(against, None)
            show_comparison(other, profile, compare(other, profile), top, out)
