"""Getting a console that does not answer to answer: interrupt, soft reset, hard reset, reflash, each step logged."""

from __future__ import annotations

from collections.abc import Callable

from portbench.boards.timing import Deadline
from portbench.boards.usb.flash import flash
from portbench.boards.usb.link import Link
from portbench.boards.usb.run import hard_reset
from portbench.errors import BoardError, BoardUnavailable, DeadlineExceeded
from portbench.firmware.identify import Uf2File

_INTERRUPT_S = 8.0
_SOFT_S = 8.0
_HARD_S = 20.0


def answers(link: Link, deadline: Deadline) -> None:
    """Return once the prompt has run a statement. Raises BoardError."""
    repl = link.open_repl(deadline)
    try:
        said = repl.execute("print(6 * 7)", deadline, f"{link.name}'s console to answer")
        if said.strip() != "42":
            raise BoardError(f"{link.name}: its console answers {said.strip()[:60]!r} to 6 * 7")
        repl.leave(deadline)
    finally:
        repl.close()


def recover(link: Link, image: Uf2File | None, deadline: Deadline) -> str:
    """Climb the ladder until the console answers, and return the step that helped.

    `image`: the last flashed image, for the last step; None leaves that out. Raises DeadlineExceeded with all steps.
    """
    steps: list[tuple[str, float, Callable[[Deadline], None]]] = [
        ("interrupt", _INTERRUPT_S, lambda _: None),
        ("soft reset", _SOFT_S, lambda part: _soft_reset(link, part)),
        ("hard reset", _HARD_S, lambda part: _hard_reset(link, part)),
    ]
    if image is not None:
        steps.append(("reflash", deadline.seconds, lambda part: _reflash(link, image, part)))
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
    repl = link.open_repl(deadline)
    try:
        repl.interrupt(deadline)
        repl.wire.until(deadline, f"{link.name} to take Ctrl-D")
        repl.wire.write(b"\x04")
        repl.wire.read_until_quiet(0.2, 2.0)
    finally:
        repl.close()


def _hard_reset(link: Link, deadline: Deadline) -> None:
    if link.power is not None:
        link.power.cycle(deadline)
    else:
        hard_reset(link, deadline)


def _reflash(link: Link, image: Uf2File, deadline: Deadline) -> None:
    flash(link, image, deadline)
