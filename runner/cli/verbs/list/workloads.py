"""Show workloads and their settings."""

import json

import click

from portbench.console import console
from portbench.runner.cli.verbs.list import show_workloads
from portbench.runner.inventory import inventory


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(as_json: bool) -> None:
    found = inventory()
    if as_json:
        click.echo(json.dumps(found["workloads"], indent=1))
    else:
        show_workloads(console(), found)
