"""Flash, deploy and run again and again while things go wrong, and see that nothing is lost.

Cycle N of a seed is always the same: --first N --cycles 1 repeats it. Ends with status 1 if any cycle hung, lost a
result or left something behind. docs/soak.md has the faults.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from portbench.errors import OptionError, PortbenchError
from portbench.firmware import catalogue
from portbench.runner.cli.console import console
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_option
from portbench.runner.cli.seconds import Seconds
from portbench.runner.interruptions import Interruptions
from portbench.workloads import workloads

_FILE_COLUMNS = 110


@click.command()
@click.option("--cycles", type=click.IntRange(1), default=100, show_default=True, help="how many")
@click.option("--seed", type=int, default=1, show_default=True, help="of all that is drawn")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="number of the first cycle")
@bench_option("runtime", default=["portbench-native"], show_default=True, help="id of the catalogue (repeatable)")
@bench_option("workload", single=True, help="what each runs (default: what is measured by default)")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="processes at once")
@click.option("--reasons", is_flag=True, help="list why rows failed")
@click.option("--records", type=click.Path(path_type=Path), help="write each cycle's record there, a line of JSON each")
@click.option("--limit-s", type=Seconds(), default=7200.0, show_default=True, help="give up after this")
def COMMAND(
    cycles: int,
    seed: int,
    first: int,
    runtime: tuple[str, ...],
    workload: str | None,
    workers: int,
    reasons: bool,
    records: Path | None,
    limit_s: float,
) -> int:
    with one_line():
        needs_engine()
        from portbench.runner.checks.soak.soak import Soak, SoakOptions

        try:
            for each in runtime:
                catalogue.load().get(each)
        except PortbenchError as error:
            raise OptionError(f"--runtime: {error}") from None
        known = workloads()
        if workload is not None and workload not in known:
            raise OptionError(f"--workload: {workload!r} is none of {', '.join(known)}")
        options = SoakOptions(runtime, workload or next(iter(known)), cycles, seed, first, workers, records, limit_s)
    out = console(_FILE_COLUMNS)
    interruptions = Interruptions()
    interruptions.listen()
    root = Path(tempfile.mkdtemp(prefix="pbsoak-"))
    try:
        soak = Soak(options, root, out)
        soak.run()
    finally:
        interruptions.ending()
        shutil.rmtree(root, ignore_errors=True)
        interruptions.restore()
    out.print(f"seed {seed}, {', '.join(runtime)}")
    soak.tally.show(out, reasons=reasons)
    return 0 if soak.tally.passed and soak.tally.cycles == cycles else 1
