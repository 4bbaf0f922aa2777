"""Lead ports of this machine to a running emulated board, or say which do.

RULE is PROTOCOL:[BIND:]PORT:[ADDRESS:]BOARD_PORT, such as tcp:8080:80; port 0 is one that is free. --end takes
PROTOCOL:PORT. A board's rules stay while it is switched off and on, and end with it.
"""

from __future__ import annotations

import click

from portbench.boards import Deadline
from portbench.boards.emulated.control import ControlClient
from portbench.boards.emulated.forward import parse_rule
from portbench.boards.registry import runtime_dir
from portbench.runner.cli.desk_name import desk_name
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.forwards import described

_ANSWER_S = 10.0


@click.command()
@click.argument("name")
@click.argument("rules", nargs=-1, metavar="[RULE]...")
@click.option(
    "--end", "ended", multiple=True, metavar="PROTOCOL:PORT", help="no longer lead this port there; repeatable"
)
def COMMAND(name: str, rules: tuple[str, ...], ended: tuple[str, ...]) -> None:
    wanted = [_checked(rule) for rule in rules]
    ports = [_port(text) for text in ended]
    name = desk_name(name)
    with one_line():
        client = ControlClient(runtime_dir() / name, name)
        deadline = Deadline(_ANSWER_S, name)
        for protocol, port in ports:
            client.call("end_forward", deadline, protocol=protocol, host_port=port)
        added = [client.call("forward", deadline, rule=rule) for rule in wanted]
        if not wanted and not ports:
            added = client.call("forwards", deadline)["forwards"]
        client.close()
        for facts in added:
            click.echo(described(facts))


def _checked(rule: str) -> str:
    try:
        return str(parse_rule(rule))
    except ValueError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None


def _port(text: str) -> tuple[str, int]:
    protocol, _, port = text.partition(":")
    if protocol not in ("tcp", "udp") or not port.isdecimal():
        raise click.UsageError(f"--end: {text!r} is not PROTOCOL:PORT, such as tcp:8080", click.get_current_context())
    return protocol, int(port)
