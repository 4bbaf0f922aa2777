"""A measured run: restart into the deployed client, and read the console until its result line.

A console that does not answer is brought to answer: interrupt, soft reset, hard reset, reflash, each step logged.
"""

import time
from collections.abc import Callable
from contextlib import closing

from portbench.boards.console import ASK_FOR_RESULT, Console
from portbench.boards.repl import Repl
from portbench.boards.timing import Deadline
from portbench.boards.usb.flash import flash
from portbench.boards.usb.link import Link
from portbench.errors import BoardError, BoardUnavailable, ConsoleLost, DeadlineExceeded
from portbench.firmware.identify import Uf2File

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
    with closing(link.open_repl(deadline)) as repl:
        repl.execute_and_lose(RESET, deadline)


def restart(link: Link, deadline: Deadline) -> None:
    """Restart the board by its power, where that is controlled, else by its own command."""
    if link.power is not None:
        link.power.cycle(deadline)
    else:
        hard_reset(link, deadline)


def run(link: Link, console: Console, deadline: Deadline) -> None:
    """Restart the board; `console` then holds what it printed, and its result. Raises ConsoleLost without one."""
    before = link.device()
    if link.power is not None:
        link.power.cycle(deadline, measured=True)
    else:
        hard_reset(link, deadline)
    with closing(link.open_repl(deadline, before if link.power is None else None, keep_input=True)) as repl:
        read_result(repl, console, deadline, nudge=link.power is None)


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


_INTERRUPT_S = 8.0
_SOFT_S = 8.0
_HARD_S = 20.0


def answers(link: Link, deadline: Deadline) -> None:
    """Return once the prompt has run a statement. Raises BoardError."""
    with closing(link.open_repl(deadline)) as repl:
        said = repl.execute("print(6 * 7)", deadline, f"{link.name}'s console to answer")
        if said.strip() != "42":
            raise BoardError(f"{link.name}: its console answers {said.strip()[:60]!r} to 6 * 7")
        repl.leave(deadline)


def recover(link: Link, image: Uf2File | None, deadline: Deadline) -> str:
    """Climb the ladder until the console answers, and return the step that helped.

    `image`: the last flashed image, for the last step; None leaves that out. Raises DeadlineExceeded with all steps.
    """
    steps: list[tuple[str, float, Callable[[Deadline], object]]] = [
        ("interrupt", _INTERRUPT_S, lambda _: None),
        ("soft reset", _SOFT_S, lambda part: _soft_reset(link, part)),
        ("hard reset", _HARD_S, lambda part: restart(link, part)),
    ]
    if image is not None:
        steps.append(("reflash", deadline.seconds, lambda part: flash(link, image, part)))
    tried: list[str] = []
    for name, seconds, step in steps:
        deadline.check(f"{link.name}'s console to answer (tried: {', '.join(tried) or 'nothing yet'})")
        part = deadline.part(seconds, f"{link.name}: recovery by {name}")
        try:
            step(part)
            answers(link, part)
        except BoardUnavailable:
            raise
        except BoardError as error:
            link.log(f"recovery: {name}: {error}")
            tried.append(name)
            continue
        link.log(f"recovery: {name}: the console answers")
        return name
    raise DeadlineExceeded(f"{link.name}: its console does not answer; tried: {', '.join(tried)}")


def _soft_reset(link: Link, deadline: Deadline) -> None:
    """Restart the interpreter of either runtime by Ctrl-D at its prompt."""
    with closing(link.open_repl(deadline)) as repl:
        repl.interrupt(deadline)
        repl.wire.until(deadline, f"{link.name} to take Ctrl-D")
        repl.wire.write(b"\x04")
        repl.wire.read_until_quiet(0.2, 2.0)
