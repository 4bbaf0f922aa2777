"""Several boards in one process: their memory, and what they execute together. Runs as a child process.

`python -m portbench.runner.checks.speed.many UF2 BOARD COUNT` takes the id of a board definition and prints a line of
JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from portbench.boards import BoardDefinition, BoardError, Deadline, board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.files import TemporaryFolder
from portbench.firmware.uf2 import flash_content
from portbench.runner.checks.check import last_line
from portbench.runner.checks.speed.loop import timed_loop
from portbench.runner.checks.speed.repl import ReplMachine

_ITERATIONS = 100_000
_CHILD_S = 120.0


@dataclass(frozen=True)
class ManyBoards:
    """`count` boards, each of which ran the loop while all the others did.

    `board_bytes` is what each board added to the process's resident memory, None where the system does not tell.
    """

    count: int
    board_bytes: int | None
    host_s: float
    instructions: int
    slowest_times_real_time: float

    @property
    def instructions_per_s(self) -> float:
        return self.instructions / self.host_s


def measure_many(image: Path, definition: BoardDefinition, count: int, deadline: Deadline) -> ManyBoards:
    """`count` boards with the MicroPython `image` at once. Raises BoardError."""
    command = [sys.executable, "-m", __name__, str(image), definition.id, str(count)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline.remaining, check=False)
    except subprocess.TimeoutExpired:
        raise deadline.exceeded(f"{count} boards at once") from None
    if done.returncode != 0:
        said = last_line(done.stderr)
        raise BoardError(f"{count} boards at once: their process ended with status {done.returncode}: {said}")
    return ManyBoards(**json.loads(done.stdout))


def _measure(image: Path, definition: BoardDefinition, count: int) -> ManyBoards:
    deadline = Deadline(_CHILD_S, f"{count} boards at once")
    before_bytes = memory_bytes(os.getpid(), "VmRSS")
    boards = [ReplMachine(image, definition) for _ in range(count)]
    for board in boards:
        board.start(deadline)
    started_s = time.perf_counter()
    with ThreadPoolExecutor(count) as threads:
        speeds = list(threads.map(lambda board: timed_loop(board, _ITERATIONS, deadline), boards))
    host_s = time.perf_counter() - started_s
    after_bytes = memory_bytes(os.getpid(), "VmRSS")
    return ManyBoards(
        count=count,
        board_bytes=None if before_bytes is None or after_bytes is None else (after_bytes - before_bytes) // count,
        host_s=host_s,
        instructions=sum(speed.instructions for speed in speeds),
        slowest_times_real_time=min(speed.simulated_s / speed.host_s for speed in speeds),
    )


def measure_process(image: Path, definition: BoardDefinition, deadline: Deadline) -> int | None:
    """Largest resident memory in bytes of the process of one emulated board, at its prompt; None as above.

    Raises BoardError.
    """
    with TemporaryFolder("portbench-benchmark") as folder:
        flash = folder / "flash.bin"
        flash.write_bytes(flash_content(image, definition.flash_bytes))
        with DeskBoard.started(definition, None, f"--flash={flash}") as board:
            board.wait_console(deadline)
            return None if board.pid is None else memory_bytes(board.pid, "VmHWM")


def memory_bytes(pid: int, key: str) -> int | None:
    """A process's resident memory now (`VmRSS`) or at most (`VmHWM`), proc(5); None where there is no /proc.

    getrusage's ru_maxrss would not do: a child's begins with its parent's.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{key}:\s+(\d+) kB$", status, re.MULTILINE)
    return None if found is None else int(found[1]) * 1024


if __name__ == "__main__":
    print(json.dumps(asdict(_measure(Path(sys.argv[1]), board_definition(sys.argv[2]), int(sys.argv[3])))))
