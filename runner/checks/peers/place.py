"""The surroundings of a suite: sources, images, and emulated boards with an image on them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from portbench.boards import Deadline, board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.errors import PortbenchError
from portbench.firmware import FOLDER_VARIABLE
from portbench.firmware.identify import Uf2File
from portbench.runner.checks.peers.sources import Source, obtain

_START_S = 600.0
_POLL_S = 0.1


@dataclass(frozen=True)
class Place:
    """`folders` hold clones and images, programs were built in `built`; the user names both.

    `limit_s`: of a suite that runs as one program on the PC, `program_limit_s`: of one on the board; in the PC's time.
    """

    folders: tuple[Path, ...]
    built: tuple[Path, ...]
    cache: Path
    scratch: Path
    limit_s: float
    program_limit_s: float
    log: Callable[[str], None]

    def source(self, source: Source) -> Path:
        return obtain(source, self.folders, self.cache)

    @cached_property
    def _images(self) -> dict[str, Path]:
        """The images at hand by their hashes."""
        named = os.environ.get(FOLDER_VARIABLE)
        folders = [*self.folders, *([Path(named)] if named else [])]
        paths = (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.uf2")))
        return {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in paths}

    def image(self, sha256: str, what: str) -> Path:
        """Raises PortbenchError."""
        if sha256 not in self._images:
            raise PortbenchError(
                f"{what}: no image with sha256 {sha256[:12]} is in a --sources DIR or ${FOLDER_VARIABLE}"
            )
        return self._images[sha256]

    @contextlib.contextmanager
    def board(self, image: Path, definition: str) -> Iterator[DeskBoard]:
        """An emulated board with `image`, once its console answers. Raises BoardError."""
        deadline = Deadline(_START_S, f"{image.name} on {definition}")
        with DeskBoard.started(board_definition(definition)) as board:
            board.flash(Uf2File.read(image), deadline)
            board.wait_console(deadline)
            yield board

    def run(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], check: Callable[[], object]
    ) -> list[str]:
        """Run a program of a suite beside boards to its end, or to the boards'; its lines.

        `check` raises BoardError where a board has stopped. Raises it, too, and after `limit_s`.
        """
        what = next((word for word in command[1:] if not word.startswith("-")), command[0])
        deadline = Deadline(self.limit_s, what)
        with tempfile.TemporaryFile(dir=self.scratch) as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **environment, "PYTHONSAFEPATH": ""},  # a script imports modules beside it
            )

            def over() -> bool:
                check()
                return process.poll() is not None

            try:
                deadline.poll(over, _POLL_S, "its end")
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        return [line for each in said.split("\n") if (line := each.strip())]
