"""Published programs, unchanged, on simulated time.

A script is saved to the drive of a running CircuitPython board, or pasted at MicroPython's raw prompt. perf_bench runs
as MicroPython's run-perfbench.py runs it: each script with benchrun.py at the raw prompt. A client of a network gets
the address of the simulated PC, which echoes, in place of its author's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.boards.definition import PC_IP
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import PS_PER_US
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.runner.checks.silicon.raw_prompt import RawPrompt
from portbench.runner.checks.speed.repl import ReplMachine
from portbench.server.simulated_pc import Part
from portbench.workloads import Conversation

_LIMIT_S: Final = 3600.0
_SCORE_LIMIT_S: Final = 900.0
N, M = 100, 100
"""The speed and the memory of the board, as the published scores were taken with."""
_STEP_US: Final = 100_000
_FIRST_START_US: Final = 10_000_000
"""CircuitPython makes its file system and runs the code.py that it comes with: 4.2 s."""
_TIMED: Final = re.compile(
    r"^(?P<name>\S[^\r\n]*)\r?\n(?:Calculation time: (?P<value>[^\r\n]*) ms|Error occurred[^\r\n]*)\r?\n", re.MULTILINE
)
_OVER: Final = "Test finished."
_END: Final = "\x04"
"""Of a program's output, at the raw prompt."""
_RAISED: Final = "Traceback (most recent call last)"
_TOTAL: Final = re.compile(r"^Total time: (\d+)\r?$", re.MULTILINE)
_DONE: Final = "Press any key to enter the REPL. Use CTRL-D to reload.\r\n"
_TAIL: Final = 4096
"""The driver's debug lines are many."""


def times_ms(
    entry: FirmwareEntry, image: Path, board: BoardDefinition, content: bytes, names: Collection[str]
) -> dict[str, list[float]]:
    """The milliseconds that the script prints for each of `names`; its end is not waited for. Raises BoardError."""
    deadline = Deadline(_LIMIT_S, f"{entry.id}: the script")
    if entry.family is Family.CIRCUITPYTHON:
        read = _saved(ReplMachine(image, board), {"code.py": content})
    else:
        prompt = RawPrompt(image, board, deadline, pastes=True)
        # As `mpremote run` and Thonny's green button do: the script's text never lies on the board's heap.
        prompt.soft_reset()
        prompt.start(content.decode())
        read = prompt.read
    said = ""
    while not is_whole(said, names):
        deadline.check(f"its figures; the board printed {said[-60:]!r}")
        said += read().decode(errors="replace")
    return values(said, names, entry.id)


def is_whole(said: str, names: Collection[str]) -> bool:
    """Whether all of `names` have been printed, or the script has ended."""
    return (
        _OVER in said
        or _RAISED in said
        or _END in said
        or set(names) <= {match["name"] for match in _TIMED.finditer(said)}
    )


def values(said: str, names: Collection[str], what: str) -> dict[str, list[float]]:
    """Milliseconds. A test that the board has no memory for says an error, and is left out. Raises BoardError."""
    found: dict[str, list[float]] = {}
    for match in _TIMED.finditer(said):
        if (name := match["name"]) not in names:
            continue
        value = match["value"]
        try:
            found[name] = [] if value is None else [float(value)]
        except ValueError:
            raise BoardError(f"{what}: {name} is {value!r}, which is no number") from None
    if missing := sorted(set(names) - set(found)):
        raise BoardError(f"{what}: the script ended without {', '.join(missing)}; it said {said[-60:]!r}")
    return {name: each for name, each in found.items() if each}


def client_ms(
    entry: FirmwareEntry, image: Path, board: BoardDefinition, content: bytes, server: str, libraries: dict[str, bytes]
) -> float:
    """The milliseconds that a client prints as its total time. `server`: its author's. Raises BoardError."""
    deadline = Deadline(_LIMIT_S, f"{entry.id}: the client")
    address, _, port = server.partition(":")
    repl = ReplMachine(image, board)
    repl.serve(int(port), EmulatedConfig().turnaround_us, Part(serve=_Echo))
    read = _saved(repl, {**libraries, "code.py": content.replace(address.encode(), str(PC_IP).encode())})
    said = ""
    while (found := _TOTAL.search(said)) is None:
        deadline.check(f"its total time; the board printed {said[-60:]!r}")
        if _RAISED in said and said.endswith(_DONE):
            raise BoardError(f"{entry.id}: the client ended without a time; it said {said[-200:]!r}")
        said = said[-_TAIL:] + read().decode(errors="replace")
    return float(found[1])


class _Echo(Conversation):
    """The author's server."""

    def receive(self, data: bytes) -> bytes:
        self.exchanges += 1
        return data

    def eof(self) -> None:
        pass


def _saved(repl: ReplMachine, files: Mapping[str, bytes]) -> Callable[[], bytes]:
    """A function that reads the console, from the moment when the files were written."""
    repl.run_until(_FIRST_START_US * PS_PER_US)
    repl.machine.volume_apply([("write", path, content) for path, content in files.items()])
    return lambda: repl.read(_STEP_US)


def score(image: Path, board: BoardDefinition, content: bytes, benchrun: bytes, what: str) -> float:
    """The score of one test, on a machine that has just been switched on. Raises BoardError."""
    prompt = RawPrompt(image, board, Deadline(_SCORE_LIMIT_S, what), pastes=False)
    script = b"import sys\nsys.path.remove('')\n\n" + content + benchrun + b"bm_run(%u, %u)\n" % (N, M)
    return score_of(prompt.execute(script.decode()), what)


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
