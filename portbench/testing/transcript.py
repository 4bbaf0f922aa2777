"""What came over one line, and how far a test has looked at it."""

from __future__ import annotations

import re
from typing import Final

MOST_BYTES: Final = 4 << 20
"""Of what came, the last so many are kept."""
_TAIL_LINES = 15
_TAIL_CHARACTERS = 200


class Transcript:
    """Takes bytes as they come. A pattern is looked for after the last one that was found."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._seen = 0

    def feed(self, data: bytes) -> None:
        self._data += data
        if (over := len(self._data) - MOST_BYTES) > 0:
            del self._data[:over]
            self._seen = max(0, self._seen - over)

    @property
    def data(self) -> bytes:
        return bytes(self._data)

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "replace")

    @property
    def unseen(self) -> int:
        """How many bytes came after what was found last."""
        return len(self._data) - self._seen

    def take(self) -> bytes:
        """What came after what was found last."""
        taken = bytes(self._data[self._seen :])
        self._seen = len(self._data)
        return taken

    def find(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        found = pattern.search(self._data, self._seen)
        if found is None:
            return None
        found = pattern.search(bytes(self._data), self._seen)  # the match keeps its text, and the array moves on
        assert found is not None
        self._seen = found.end()
        return found

    def tail(self) -> str:
        """The last lines, for people: each indented, control characters as Python writes them."""
        lines = bytes(self._data[-_TAIL_LINES * _TAIL_CHARACTERS :]).decode("utf-8", "replace").splitlines()
        shown = [line if line.isprintable() else ascii(line)[1:-1] for line in lines[-_TAIL_LINES:]]
        return "\n".join(f"  {line[-_TAIL_CHARACTERS:]}" for line in shown) or "  (nothing)"
