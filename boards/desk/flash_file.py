"""A board's flash in a file, from one session to the next."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from portbench.boards.definition import BoardDefinition
from portbench.errors import BoardUnavailable
from portbench.files import lock, replace_file

_SETTLED_S: Final = 1.0
"""A program that writes to flash goes on for a while; the file is saved after it."""
_LATEST_S: Final = 10.0
"""The file is saved this long after the first change at the latest."""


class FlashFile:
    """The file `path` with the raw contents of the whole flash; `path`.board, locked while it is open, names the board.

    A missing file is made. Raises BoardUnavailable for one that is another board's, or is in use.
    """

    def __init__(self, path: Path, definition: BoardDefinition, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._saved_generation: int | None = None
        self._seen_generation = 0
        self._changed_s = self._first_changed_s = 0.0
        self._label = path.with_name(f"{path.name}.board")
        if path.exists() and not path.is_file():
            raise BoardUnavailable(f"--flash: {path}: is not a file; name one for the board's flash")
        busy = BoardUnavailable(f"--flash: {path}: another board that runs has it; name another file")
        try:
            self._lock = lock(self._label, busy)
        except OSError as error:
            raise BoardUnavailable(
                f"--flash: {self._label}: {error.strerror}; name a file in a folder of yours"
            ) from error
        try:
            self._check(definition)
            self.contents: bytes = path.read_bytes() if path.exists() else b""
            if self.contents and len(self.contents) != definition.flash_bytes:
                raise BoardUnavailable(
                    f"--flash: {path}: has {len(self.contents)} bytes, and the flash of {definition.id}"
                    f" {definition.flash_bytes}; name another file"
                )
            self._label.write_text(f"{definition.id}\n", encoding="utf-8")
        except OSError as error:
            self.close()
            raise BoardUnavailable(f"--flash: {path}: {error.strerror}; name another file") from error
        except BaseException:
            self.close()
            raise

    def _check(self, definition: BoardDefinition) -> None:
        kind = self._label.read_text(encoding="utf-8", errors="replace")[:200].strip()
        if kind and kind != definition.id and self._path.exists():
            raise BoardUnavailable(
                f"--flash: {self._path}: is the flash of a {kind}; use --board {kind} or another file"
            )

    def look(self, generation: int, contents: Callable[[], bytes]) -> None:
        """Save the flash once changes have settled. `generation`: how often it was changed since power-up."""
        now_s = self._clock()
        if self._saved_generation is None:
            self._saved_generation = self._seen_generation = generation
        if generation != self._seen_generation:
            if self._seen_generation == self._saved_generation:
                self._first_changed_s = now_s
            self._seen_generation, self._changed_s = generation, now_s
        unsaved = self._seen_generation != self._saved_generation
        if unsaved and (now_s - self._changed_s >= _SETTLED_S or now_s - self._first_changed_s >= _LATEST_S):
            self.save(contents())
            self._saved_generation = self._seen_generation

    def restarted(self, contents: bytes) -> None:
        """Save at a power cycle, from which the board counts its changes anew."""
        self.save(contents)
        self._saved_generation = None

    def save(self, contents: bytes) -> None:
        """Save the flash whole, or leave the file as it was. Raises OSError."""
        if contents == self.contents:
            return
        replace_file(self._path, contents)
        self.contents = contents

    def close(self) -> None:
        self._lock.release()
