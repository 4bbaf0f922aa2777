"""The bytes of one line, and how far a test has looked at them."""

import re
from typing import Final

MOST_BYTES: Final = 4 << 20
"""The most that is kept: the last bytes."""
_RAW_REPL = re.compile(rb"raw REPL; CTRL-B to exit\r\n>(OK)?|R\x01..\x01*\x04|\x04>?", re.DOTALL)
"""Output of the raw prompt besides that of code."""
_TAIL_LINES = 15
_TAIL_CHARACTERS = 200


class Transcript:
    """Takes bytes as they come. The search for a pattern begins after the last match."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._seen = 0
        self._fed = 0

    def feed(self, data: bytes) -> None:
        self._data += data
        self._fed += len(data)
        if (over := len(self._data) - MOST_BYTES) > 0:
            del self._data[:over]
            self._seen = max(0, self._seen - over)

    @property
    def data(self) -> bytes:
        return bytes(self._data)

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "replace")

    def take(self) -> bytes:
        """Return the bytes after the last match, and go on behind them."""
        taken = bytes(self._data[self._seen :])
        self._seen = len(self._data)
        return taken

    def mark(self) -> int:
        """The end as it is now, for `cut`."""
        return self._fed

    def cut(self, mark: int) -> None:
        """Forget the bytes after `mark`."""
        del self._data[max(0, len(self._data) - (self._fed - mark)) :]
        self._fed, self._seen = mark, len(self._data)

    def find(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        found = pattern.search(self._data, self._seen)
        if found is None:
            return None
        found = pattern.search(bytes(self._data), self._seen)  # the match keeps its text, and the array moves on
        assert found is not None
        self._seen = found.end()
        return found

    def tail(self) -> str:
        """Return the last lines, indented and with control characters as Python writes them, without the raw REPL's."""
        data = _RAW_REPL.sub(b"", self._data[-_TAIL_LINES * _TAIL_CHARACTERS :])
        lines = data.decode("utf-8", "replace").splitlines()
        shown = [line if line.isprintable() else ascii(line)[1:-1] for line in lines[-_TAIL_LINES:]]
        return "\n".join(f"  {line[-_TAIL_CHARACTERS:]}" for line in shown) or "  (nothing)"
