"""Flash, deploy and run again and again while things go wrong.

Each part is a runtime, or `kills`; portbench-native alone is the default. No cycle may hang, lose a result or leave
anything behind. --first N --cycles 1 repeats cycle N of a seed. --record FILE gets a line of JSON for each cycle.
"""

from __future__ import annotations

from typing import Any

import click

from portbench.engine import needs_engine
from portbench.errors import OptionError, unknown
from portbench.runner.cli.checking import carry_out, check_options, tell
from portbench.runner.cli.options import Seconds, bench_option


@click.command()
@check_options
@click.option("--cycles", type=click.IntRange(1), default=100, show_default=True, help="Number of cycles of a part.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random choices.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="Number of the first cycle.")
@bench_option("workload", single=True, help="Workload of each cycle (default: the default one).")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes at once.")
@click.option("--reasons", is_flag=True, help="List the reasons of failed rows.")
@click.option("--limit-s", type=Seconds(), default=7200.0, show_default=True, help="Give a part up after this time.")
def COMMAND(
    cycles: int, seed: int, first: int, workload: str | None, workers: int, reasons: bool, limit_s: float, **shared: Any
) -> int:
    needs_engine()
    from portbench.runner.checks.soak.check import Soak, SoakOptions
    from portbench.workloads import workloads

    known = workloads()
    if workload is not None and workload not in known:
        raise OptionError(f"--workload: {unknown('workload', workload, known)}")
    options = SoakOptions(workload or next(iter(known)), cycles, seed, first, workers, limit_s, reasons)
    return carry_out(Soak(tell, options, shared["record"]), **shared)
