"""A log whose size a guest cannot drive up without limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from portbench.shown import shown

MOST_CHARACTERS: Final = 1 << 20


class BoundedLog:
    """Passes lines on to `write` as long as there is room, and counts the others."""

    def __init__(self, write: Callable[[str], None], room: int = MOST_CHARACTERS) -> None:
        self._write = write
        self._room = room
        self._used = 0
        self._left_out_lines = 0
        self._left_out_characters = 0

    def line(self, text: str) -> None:
        """Write a line that a guest may cause as often as it likes."""
        text = shown(text)
        if self._left_out_lines or self._used + len(text) > self._room:
            self._left_out_lines += 1
            self._left_out_characters += len(text)
            return
        self._used += len(text) + 1
        self._write(text)

    def note(self, text: str) -> None:
        """Write a line of ours, for which there is always room."""
        self._write(shown(text))

    def restart(self) -> None:
        """Begin a new part, with new room."""
        self.end()
        self._used = 0

    def end(self) -> None:
        """Write how much was left out, if any."""
        lines, characters = self._left_out_lines, self._left_out_characters
        self._left_out_lines = self._left_out_characters = 0
        if lines:
            self.note(f"# left out: {lines} lines, {characters} characters; this log takes {self._room} characters")
