"""Show runtimes, their images and profiles."""

import json

import click

from portbench.console import console
from portbench.runner.cli.verbs.list import show_runtimes
from portbench.runner.inventory import inventory


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(as_json: bool) -> None:
    found = inventory()
    if as_json:
        click.echo(json.dumps(found["runtimes"], indent=1))
    else:
        show_runtimes(console(), found["runtimes"])
