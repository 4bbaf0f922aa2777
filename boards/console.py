"""Console output: lines, the client's one result line among them; and a log whose size a guest cannot drive up."""

import json
from collections.abc import Callable
from typing import Any, Final

from portbench.console import shown

RESULT_PREFIX = "PORTBENCH "

MOST_LINE_BYTES: Final = 16 << 20
"""A result line of a million round trips is half of that."""
MOST_CHARACTERS: Final = 4 << 20
_LINE_CHARACTERS: Final = 64
"""The memory that a line takes beside its characters."""

ASK_FOR_RESULT = "import json; print('PORTBENCH', json.dumps(RESULT))"
"""MicroPython statement that prints the result line again after main.py has ended (`mpremote resume exec`)."""


def parse_result(line: str) -> dict[str, Any] | None:
    """The result in a console line, or None where the line holds none or a damaged one.

    Text before the prefix is allowed: CircuitPython's title-bar escape sequences and prompts end without a newline.
    """
    _, found, text = line.partition(RESULT_PREFIX)
    if not found:
        return None
    try:
        result, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) else None


class Console:
    """Collects console bytes of one board, split into lines however they arrive, and finds the result line.

    `on_line` is called with every complete line. Of a board that floods, the last lines are kept, and a line without an
    end is cut.
    """

    def __init__(self, on_line: Callable[[str], None] | None = None) -> None:
        self.lines: list[str] = []
        self.result: dict[str, Any] | None = None
        self._on_line = on_line
        self._pending = bytearray()
        self._kept_characters = 0

    def feed(self, data: bytes) -> None:
        """Take bytes as they came; a line ends at `\\n`, and `\\r` before it does not count."""
        first, *others = data.split(b"\n")
        self._pending += first
        for part in others:
            self._line(bytes(self._pending))
            self._pending = bytearray(part)
        if len(self._pending) > MOST_LINE_BYTES:
            self.end()

    def end(self) -> None:
        """Nothing more will come: take an unfinished line as it is."""
        if self._pending:
            raw, self._pending = bytes(self._pending), bytearray()
            self._line(raw)

    def tail(self, n: int) -> list[str]:
        """The last `n` lines, an unfinished one included."""
        unfinished = [self._pending.decode("utf-8", "replace")] if self._pending else []
        return (self.lines + unfinished)[-n:] if n > 0 else []

    def _line(self, raw: bytes) -> None:
        line = raw.rstrip(b"\r").decode("utf-8", "replace")
        self.lines.append(line)
        self._kept_characters += len(line) + _LINE_CHARACTERS
        if self._kept_characters > 2 * MOST_CHARACTERS:
            self._forget_the_first()
        result = parse_result(line)
        if result is not None:
            self.result = result
        if self._on_line:
            self._on_line(line)

    def _forget_the_first(self) -> None:
        """Down to half of what it was, so that each line is looked at a few times only."""
        kept = 0
        for number, line in enumerate(reversed(self.lines)):
            kept += len(line) + _LINE_CHARACTERS
            if kept > MOST_CHARACTERS and number:
                del self.lines[:-number]
                self._kept_characters = kept - len(line) - _LINE_CHARACTERS
                return


MOST_LOG_CHARACTERS: Final = 1 << 20


class BoundedLog:
    """Passes lines on to `write` as long as there is room, and counts the others."""

    def __init__(self, write: Callable[[str], None], room: int = MOST_LOG_CHARACTERS) -> None:
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
