"""Published programs, unchanged, on simulated time.

A script is saved to the drive of a running CircuitPython board, or pasted at MicroPython's raw prompt. perf_bench runs
as MicroPython's run-perfbench.py runs it: each script with benchrun.py at the raw prompt. A client of a network gets
the address of the simulated PC, which echoes, in place of its author's.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.boards.definition import PC_IP
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import PS_PER_S, PS_PER_US, Simulation
from portbench.boards.emulated.wire import SimulatedWire
from portbench.boards.prompt import Prompt
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.firmware.uf2 import flash_content
from portbench.server.simulated_pc import Part
from portbench.workloads import Conversation

_LIMIT_S: Final = 3600.0
_SCORE_LIMIT_S: Final = 900.0
N, M = 100, 100
"""The speed and the memory of the board, as the published scores were taken with."""
_LOOK_S: Final = 0.1
_FIRST_START_US: Final = 10_000_000
"""CircuitPython makes its file system and runs the code.py that it comes with: 4.2 s."""
_TIMED: Final = re.compile(
    r"^(?P<name>\S[^\r\n]*)\r?\n(?:Calculation time: (?P<value>[^\r\n]*) ms|Error occurred[^\r\n]*)\r?\n", re.MULTILINE
)
_OVER: Final = "Test finished."
_CTRL_A: Final = b"\x01"
_RAW: Final = b"raw REPL; CTRL-B to exit\r\n>"
_PAUSE_PS: Final = 10_000 * PS_PER_US
_END: Final = "\x04"
"""End of a program's output, at the raw prompt."""
_RAISED: Final = "Traceback (most recent call last)"
_TOTAL: Final = re.compile(r"^Total time: (\d+)\r?$", re.MULTILINE)
_DONE: Final = "Press any key to enter the REPL. Use CTRL-D to reload.\r\n"
_TAIL: Final = 4096
"""The driver's debug lines are many."""


def times_ms(
    entry: FirmwareEntry, image: Path, board: BoardDefinition, content: bytes, names: Collection[str]
) -> dict[str, float]:
    """The milliseconds that the script prints for each of `names`; its end is not waited for. Raises BoardError."""
    deadline = Deadline(_LIMIT_S, f"{entry.id}: the script")
    simulation = _switched_on(image, board)
    wire = _PacedWire(simulation)
    if entry.family is Family.CIRCUITPYTHON:
        _save(simulation, {"code.py": content})
    else:
        # As `mpremote run` and Thonny's green button do: the script's text never lies on the board's heap.
        prompt = wire.raw_prompt(deadline, pastes=True)
        prompt.soft_reset()
        prompt.start(content.decode())
    said = ""
    while not is_whole(said, names):
        wire.until(deadline, f"its figures; the board printed {said[-60:]!r}")
        said += wire.read_some(_LOOK_S).decode(errors="replace")
    return values(said, names, entry.id)


def is_whole(said: str, names: Collection[str]) -> bool:
    """True if all of `names` have been printed, or the script has ended."""
    return (
        _OVER in said
        or _RAISED in said
        or _END in said
        or set(names) <= {match["name"] for match in _TIMED.finditer(said)}
    )


def values(said: str, names: Collection[str], what: str) -> dict[str, float]:
    """Milliseconds. A test that the board has no memory for says an error, and is left out. Raises BoardError."""
    found: dict[str, float | None] = {}
    for match in _TIMED.finditer(said):
        if (name := match["name"]) not in names:
            continue
        value = match["value"]
        try:
            found[name] = None if value is None else float(value)
        except ValueError:
            raise BoardError(f"{what}: {name} is {value!r}, which is not a number") from None
    if missing := sorted(set(names) - set(found)):
        raise BoardError(f"{what}: the script ended without {', '.join(missing)}; it said {said[-60:]!r}")
    return {name: each for name, each in found.items() if each is not None}


def client_ms(
    entry: FirmwareEntry,
    image: Path,
    board: BoardDefinition,
    content: bytes,
    server: str,
    libraries: dict[str, bytes],
    turnaround_us: int,
) -> float:
    """The milliseconds that a client prints as its total time. `server`: its author's. Raises BoardError."""
    deadline = Deadline(_LIMIT_S, f"{entry.id}: the client")
    address, _, port = server.partition(":")
    simulation = _switched_on(image, board)
    simulation.serve(int(port), turnaround_us, Part(service=lambda: _Echo))
    _save(simulation, {**libraries, "code.py": content.replace(address.encode(), str(PC_IP).encode())})
    wire = SimulatedWire(simulation)
    said = ""
    while (found := _TOTAL.search(said)) is None:
        wire.until(deadline, f"its total time; the board printed {said[-60:]!r}")
        if _RAISED in said and said.endswith(_DONE):
            raise BoardError(f"{entry.id}: the client ended without a time; it said {said[-200:]!r}")
        said = said[-_TAIL:] + wire.read_some(_LOOK_S).decode(errors="replace")
    return float(found[1])


class _Echo(Conversation):
    """The author's server."""

    def receive(self, data: bytes) -> bytes:
        self.exchanges += 1
        return data

    def eof(self) -> None:
        pass


def _switched_on(image: Path, board: BoardDefinition) -> Simulation:
    simulation = Simulation(flash_content(image, board.flash_bytes), EmulatedConfig().settings(board))
    simulation.slice_ps = PS_PER_S  # nothing looks at it in between
    return simulation


def _save(simulation: Simulation, files: Mapping[str, bytes]) -> None:
    simulation.run_until(_FIRST_START_US * PS_PER_US)
    simulation.machine.volume_apply([("write", path, content) for path, content in files.items()])


def score(image: Path, board: BoardDefinition, content: bytes, benchrun: bytes, what: str) -> float:
    """The score of one test, on a machine that has just been switched on. Raises BoardError."""
    prompt = _PacedWire(_switched_on(image, board)).raw_prompt(Deadline(_SCORE_LIMIT_S, what), pastes=False)
    script = b"import sys\nsys.path.remove('')\n\n" + content + benchrun + b"bm_run(%u, %u)\n" % (N, M)
    return score_of(prompt.execute(script.decode()), what)


class _PacedWire(SimulatedWire):
    """Simulates the pause that mpremote makes after each piece of a program. No question runs the board."""

    def raw_prompt(self, deadline: Deadline, *, pastes: bool) -> Prompt:
        """The raw prompt of MicroPython on a board that has just been switched on. `pastes` as in Prompt."""
        self.wait_prompt(deadline)
        self.until(deadline, "the raw prompt, or an answer there")
        self.write(_CTRL_A)
        while not self._buffer.endswith(_RAW):
            self._wait()
        del self._buffer[:-1]
        return Prompt(self, deadline.what, pastes=pastes)

    def write(self, data: bytes) -> int:
        self._simulation.machine.console_write(data)
        if len(data) > 1:
            self._buffer += self._simulation.advance(self._simulation.time_ps + _PAUSE_PS).printed
        return len(data)

    def inWaiting(self) -> int:
        return len(self._buffer)


def score_of(printed: str, what: str) -> float:
    """The score in `TIME_US NORM RESULT`. Raises BoardError."""
    words = printed.split(None, 2)
    try:
        time_us, norm = int(words[0]), int(words[1])
    except (ValueError, IndexError):
        raise BoardError(f"{what}: printed {printed[:80]!r}, which is not a time and a norm") from None
    if time_us <= 0 or norm <= 0:
        raise BoardError(f"{what}: {printed.strip()[:80]}")
    return 1e6 * norm / time_us
