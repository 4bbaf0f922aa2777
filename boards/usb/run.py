"""A measured run: restart into the deployed client, and read the console until its result line."""

from __future__ import annotations

import time

from portbench.boards.console import ASK_FOR_RESULT, Console
from portbench.boards.timing import Deadline
from portbench.boards.usb.link import Link
from portbench.boards.usb.repl import Repl
from portbench.errors import BoardError, ConsoleLost

RESET = """
try:
    import microcontroller
    microcontroller.reset()
except ImportError:
    import machine
    machine.reset()
"""
"""A hard reset, for both runtimes."""

_PROMPT = ">>> "
_CIRCUITPYTHON_ENDED = "Code done running."
_SILENT_S = 2.0
_LOOK_S = 0.05
_ASK_S = 10.0


def hard_reset(link: Link, deadline: Deadline) -> None:
    """Restart the board by its own command and wait until its port has gone."""
    repl = link.open_repl(deadline)
    try:
        repl.execute_and_lose(RESET, deadline)
    finally:
        repl.close()


def run(link: Link, console: Console, deadline: Deadline) -> None:
    """Restart the board; `console` then holds what it printed, and its result. Raises ConsoleLost without one."""
    before = link.device()
    if link.power is not None:
        link.power.cycle(deadline, measured=True)
    else:
        hard_reset(link, deadline)
    repl = link.open_repl(deadline, before if link.power is None else None, keep_input=True)
    try:
        read_result(repl, console, deadline, nudge=link.power is None)
    finally:
        repl.close()


def read_result(repl: Repl, console: Console, deadline: Deadline, *, nudge: bool) -> None:
    """Read until the result line has come.

    `nudge`: press Enter once if the board stays silent at first. The client does not notice; a prompt that answers says
    that the client had ended before the port was open, and its result is asked for.
    """
    repl.wire.until(deadline, "the client's result line")
    opened_s = time.monotonic()
    while console.result is None:
        data = repl.wire.read_some(_LOOK_S)
        if data:
            nudge = False
            console.feed(data)
        elif _has_ended(console):
            _ask(repl, console, deadline)
        elif nudge and time.monotonic() - opened_s > _SILENT_S:
            nudge = False
            repl.wire.write(b"\r")
        deadline.check("the client's result line")


def _has_ended(console: Console) -> bool:
    """The last thing on the console is a prompt, or CircuitPython's word that the script is over."""
    tail = console.tail(4)
    return bool(tail) and (tail[-1].endswith(_PROMPT) or any(_CIRCUITPYTHON_ENDED in line for line in tail))


def _ask(repl: Repl, console: Console, deadline: Deadline) -> None:
    """The client has ended: MicroPython's keeps its result in RESULT."""
    last = [line for line in console.tail(6) if line.strip() and not line.endswith(_PROMPT)][-1:]
    part = deadline.part(_ASK_S, deadline.what)
    try:
        answer = repl.execute(ASK_FOR_RESULT, part, f"{repl.name} to give its result again")
    except BoardError as error:
        if isinstance(error, ConsoleLost):
            raise
        raise ConsoleLost(f"{repl.name}: the client ended without a result line; last it printed: {last}") from error
    console.feed(answer.encode() + b"\n")
    if console.result is None:
        raise ConsoleLost(f"{repl.name}: the client ended and its result line is damaged; it begins {answer[:60]!r}")
