"""The output of a script, read by a listener as well, as a PC reads a board's console."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO


class Overheard(io.TextIOBase):
    """Writes to `to`; `heard` is called with every whole line."""

    def __init__(self, to: TextIO, heard: Callable[[str], None]) -> None:
        self._to = to
        self._heard = heard
        self._unfinished = ""

    def write(self, text: str) -> int:
        written = self._to.write(text)
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._heard(line)
        return written

    def flush(self) -> None:
        self._to.flush()
