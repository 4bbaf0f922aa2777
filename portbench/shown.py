"""Text of boards, files and programs as people may see it: one line, and nothing that a terminal would obey."""

from __future__ import annotations

import re
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # C0 but the tabulator, DEL, C1
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # turn the order of what follows, or begin a line
    "\ud800-\udfff]"  # bytes of a file's name that are no text
)


def shown(text: str) -> str:
    """`text` with control characters as escapes (`\\x1b`), fit for a terminal, a table and any file."""
    return _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # as Python keeps a byte that it cannot decode
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
