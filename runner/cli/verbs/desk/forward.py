"""Forward ports of this PC to a running emulated board, or show them.

RULE is PROTOCOL:[BIND:]PORT:[ADDRESS:]BOARD_PORT, such as tcp:8080:80; port 0 is any free port. --end takes
PROTOCOL:PORT. A board's rules stay while it is switched off and on, and end with it.
"""

import click

from portbench.boards import Deadline
from portbench.boards.desk.forwards import parse_rule
from portbench.runner.cli.desk import ANSWER_S, controls, described


@click.command()
@click.argument("name")
@click.argument("rules", nargs=-1, metavar="[RULE]...")
@click.option("--end", "ended", multiple=True, metavar="PROTOCOL:PORT", help="stop forwarding this port; repeatable")
def COMMAND(name: str, rules: tuple[str, ...], ended: tuple[str, ...]) -> None:
    wanted = [_checked(rule) for rule in rules]
    ports = [_port(text) for text in ended]
    with controls(name) as board:
        deadline = Deadline(ANSWER_S, name)
        for protocol, port in ports:
            board.call("end_forward", deadline, protocol=protocol, host_port=port)
        added = [board.call("forward", deadline, rule=rule) for rule in wanted]
        if not wanted and not ports:
            added = board.call("forwards", deadline)["forwards"]
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
