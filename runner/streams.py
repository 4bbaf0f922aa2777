"""Standard streams that neither a closed pipe nor a poor locale can upset."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    """Names that the locale's encoding does not have are written with escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")


def close_quietly() -> None:
    """Brings out what is still to be written; whoever read it may have gone, as `head -1` does."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more as it ends, and would complain of the same.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
