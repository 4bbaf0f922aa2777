"""Run other people's test suites on the emulated board, and count what is right.

Sources and images come from the folders of --sources (clones, bare mirrors, .uf2 files), PORTBENCH_FIRMWARE_DIR and the
user's cache; clones are fetched where GitHub can be reached. Programs that have to be built come from the folders of
--built. docs/evidence/peers.md has the suites and the last record.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
from pathlib import Path

import click
import platformdirs

from portbench.errors import OptionError, PortbenchError
from portbench.runner.cli.console import console, plain_table
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.seconds import Seconds

_FILE_COLUMNS = 120
_PROGRAM_S = 600.0
"""Those with both cores busy or with fast PIO take minutes."""


@click.command()
@click.option("--suite", "chosen", multiple=True, metavar="NAME", help="only this one (repeatable; default: all)")
@click.option(
    "--sources",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="folder with clones, bare mirrors or .uf2 files (repeatable)",
)
@click.option(
    "--built",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="folder that a project's programs were built in (repeatable)",
)
@click.option(
    "--record-in",
    type=click.Path(path_type=Path),
    default=Path("docs/evidence"),
    show_default=True,
    metavar="DIR",
    help="where the record is: peers.json and the page peers.md",
)
@click.option("--record", is_flag=True, help="write what came of it there")
@click.option("--check", is_flag=True, help="end with status 1 where a program that the record has as right is not")
@click.option("--list", "only_list", is_flag=True, help="list the suites, and run none")
@click.option("--limit-s", type=Seconds(), default=7200.0, show_default=True, help="give a suite up after this")
def COMMAND(
    chosen: tuple[str, ...],
    sources: tuple[Path, ...],
    built: tuple[Path, ...],
    record_in: Path,
    record: bool,
    check: bool,
    only_list: bool,
    limit_s: float,
) -> int:
    with one_line():
        needs_engine()
    from portbench.runner.checks.peers import record as records
    from portbench.runner.checks.peers.outcome import COLUMNS, SuiteResult
    from portbench.runner.checks.peers.suite import names, suite

    with one_line():
        if unknown := next((name for name in chosen if name not in names()), None):
            raise OptionError(f"--suite: {unknown!r} is none of {', '.join(names())}")
        suites = [suite(name) for name in chosen or names()]
        if only_list:
            click.echo("\n".join(f"{each.name}: {each.title}" for each in suites))
            return 0
        from portbench.runner.checks.peers.place import Place

        before = records.read(record_in)
        if record and not record_in.is_dir():
            raise OptionError(f"--record-in: {record_in} is no folder; name the one that the record belongs in")
    with contextlib.suppress(ValueError):  # not in the main thread, so nobody sends it signals
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    out = console(_FILE_COLUMNS)
    results: list[SuiteResult] = []
    with tempfile.TemporaryDirectory(prefix="portbench-peers-") as scratch:
        place = Place(
            folders=sources,
            built=built,
            cache=platformdirs.user_cache_path("portbench", appauthor=False) / "peers",
            scratch=Path(scratch),
            limit_s=limit_s,
            program_limit_s=min(limit_s, _PROGRAM_S),
            log=lambda line: click.echo(line, err=True),
        )
        for each in suites:
            click.echo(f"{each.name}: {each.title}", err=True)
            try:
                results.append(each.run(place))
            except PortbenchError as error:
                results.append(SuiteResult(suite=each.name, title=each.title, reason=str(error)))
                click.echo(f"{each.name}: {error}", err=True)
    lines = [[each.suite, *(str(each.count(column)) for column in COLUMNS), str(each.total)] for each in results]
    out.print(plain_table("Peers", ("suite", *COLUMNS, "programs"), lines, ()))
    for result in results:
        for outcome in result.not_right:
            click.echo(f"{result.suite}: {outcome.program} {outcome.verdict}: {outcome.said}".rstrip(": "))
    with one_line():
        if record:
            # As it is now: another suite may have been recorded meanwhile.
            fresh = (each for each in results if not each.reason)
            records.write(record_in, records.read(record_in).with_results(fresh))
    faults = records.lesser(before, results) if check else [each.reason for each in results if each.reason]
    if check:
        for fault in faults:
            click.echo(fault, err=True)
    return 1 if faults else 0
