"""Compare two runs or images row by row, with confidence.

A and B are run files, `latest`, names that runs were given (`portbench run --name`), revisions that they were measured
at, or .uf2 images, which are measured now, with the options of `portbench run`.
"""

from __future__ import annotations

import json
from typing import Any

import click

from portbench.results.compare import compare
from portbench.results.compare_table import as_data, markdown
from portbench.runner.cli.comparing import limit_option, measuring_options, print_comparison, sides
from portbench.runner.cli.options import given


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@measuring_options
@limit_option
@click.option("--json", "form", flag_value="json", help="print JSON")
@click.option("--markdown", "form", flag_value="markdown", help="print Markdown")
def COMMAND(before: str, after: str, fail_if_slower: float | None, form: str | None, **values: Any) -> int:
    compared = compare(*sides(before, after, given(values)))
    if not compared:
        raise click.ClickException(f"{before} and {after} have no row in common that was measured; measure both alike")
    if form == "json":
        click.echo(json.dumps(as_data(compared, fail_if_slower), indent=1))
    elif form == "markdown":
        click.echo(markdown(compared, fail_if_slower), nl=False)
    else:
        print_comparison(compared, fail_if_slower)
    return int(fail_if_slower is not None and any(each.is_slower_than(fail_if_slower) for each in compared))
