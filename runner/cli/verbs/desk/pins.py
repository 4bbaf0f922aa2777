"""Hold an emulated board's pins, join them by jumper wires, or show them.

GP15=low, GP15=high, GP26=1.65 hold a pin, GP15=open releases it, GP0:GP1 is a wire.
"""

import json
from typing import Any, Final

import click

from portbench.boards import Deadline
from portbench.boards.pins import parse_pin, parse_wire, show_volts
from portbench.errors import PortbenchError
from portbench.runner.cli.desk import ANSWER_S, controls

_PINS: Final = 30


@click.command()
@click.argument("name")
@click.argument("changes", nargs=-1)
@click.option("--cut", multiple=True, metavar="GP0:GP1", help="take a wire away; repeatable")
@click.option("--json", "as_json", is_flag=True, help="print the pins as JSON")
def COMMAND(name: str, changes: tuple[str, ...], cut: tuple[str, ...], as_json: bool) -> None:
    try:
        hold = dict(parse_pin(change) for change in changes if ":" not in change)
        wire, unwire = [parse_wire(change) for change in changes if ":" in change], list(map(parse_wire, cut))
    except ValueError as error:
        raise PortbenchError(str(error)) from None
    with controls(name) as board:
        now = board.call("pins", Deadline(ANSWER_S, name), hold=hold, wire=wire, unwire=unwire)
    if as_json:
        click.echo(json.dumps(now))
    elif not (changes or cut):
        for line in _table(now):
            click.echo(line)


def _table(now: dict[str, Any]) -> list[str]:
    """One line for each pin that is driven, held, wired or high."""
    joined: dict[int, list[str]] = {}
    for a, b in now["wires"]:
        joined.setdefault(a, []).append(f"GP{b}")
        joined.setdefault(b, []).append(f"GP{a}")
    lines = []
    for pin in range(_PINS):
        words = []
        if now["driven"] >> pin & 1:
            words.append("driven by the chip")
        if (volts := now["held"].get(str(pin))) is not None:
            words.append(f"held at {show_volts(volts)}" + ("" if volts in (0.0, 3.3) else " V"))
        if pin in joined:
            words.append(f"wired to {', '.join(joined[pin])}")
        if words or now["levels"] >> pin & 1:
            lines.append(f"GP{pin:<2} {'high' if now['levels'] >> pin & 1 else 'low '}  {', '.join(words)}".rstrip())
    return lines
