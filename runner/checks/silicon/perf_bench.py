"""MicroPython's perf_bench, as its run-perfbench.py runs it: each script with benchrun.py at the raw prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.runner.checks.silicon.raw_prompt import RawPrompt

N, M = 100, 100
"""What the published scores were taken with: the speed and the memory of the board."""
_LIMIT_S: Final = 900.0


def score(image: Path, board: BoardDefinition, content: bytes, benchrun: bytes, what: str) -> float:
    """Of one test, on a machine that has just been switched on. Raises BoardError."""
    prompt = RawPrompt(image, board, Deadline(_LIMIT_S, what))
    script = b"import sys\nsys.path.remove('')\n\n" + content + benchrun + b"bm_run(%u, %u)\n" % (N, M)
    return score_of(prompt.execute(script), what)


def score_of(printed: str, what: str) -> float:
    """The score in `TIME_US NORM RESULT`. Raises BoardError."""
    words = printed.split(None, 2)
    try:
        time_us, norm = int(words[0]), int(words[1])
    except (ValueError, IndexError):
        raise BoardError(f"{what}: printed {printed[:80]!r}, which is no time and no norm") from None
    if time_us <= 0 or norm <= 0:
        raise BoardError(f"{what}: {printed.strip()[:80]}")
    return 1e6 * norm / time_us
