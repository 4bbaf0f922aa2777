"""Asking the runtime what it is."""

from __future__ import annotations

from portbench.boards.board import RuntimeIdentity
from portbench.boards.timing import Deadline
from portbench.boards.usb.repl import Repl
from portbench.errors import BoardError

_MARK = "PORTBENCH-IDENTITY"

ASK = f"""
import sys
i = sys.implementation
m = getattr(i, '_machine', '')
if not m:
    import os
    m = os.uname().machine
try:
    import board
    b = board.board_id
except Exception:
    b = getattr(i, '_build', '')
print({_MARK!r}, i.name, '.'.join([str(p) for p in i.version[:3]]), b or '-', m)
"""
"""`_build` is MicroPython's since 1.25; CircuitPython has `board.board_id`."""


def identify(repl: Repl, deadline: Deadline) -> RuntimeIdentity:
    """Raises BoardError for an answer that cannot be."""
    answer = repl.execute(ASK, deadline, f"{repl.name} to say what it is")
    for line in answer.splitlines():
        words = line.split(" ", 4)
        if len(words) == 5 and words[0] == _MARK:
            board_id = "" if words[3] == "-" else words[3]
            return RuntimeIdentity(family=words[1], version=words[2], board_id=board_id, machine=words[4].strip())
    raise BoardError(f"{repl.name}: asked what it is, it answered {answer.strip()[:80]!r}")
