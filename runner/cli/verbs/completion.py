"""Print the shell's script that completes this command.

For bash: eval "$(portbench completion bash)", in ~/.bashrc to keep it.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from portbench.runner.cli.group import NAME


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def COMMAND(context: click.Context, /, shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, NAME, f"_{NAME.upper()}_COMPLETE").source())
