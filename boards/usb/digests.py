"""Hashes of files as the board itself reads them: the proof that a copy arrived."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from portbench.boards.prompt import ReplError
from portbench.boards.timing import Deadline
from portbench.boards.usb.repl import Repl
from portbench.errors import BoardError

DEFINE_DIGEST = """
import hashlib
def portbench_digest(path):
    try:
        h = hashlib.sha256()
    except AttributeError:
        h = hashlib.new('sha256')
    b = bytearray(512)
    m = memoryview(b)
    with open(path, 'rb') as f:
        while True:
            n = f.readinto(b)
            if not n:
                return ''.join('%02x' % x for x in h.digest())
            h.update(m[:n])
"""

DEFINE_SIZE = """
import os
def portbench_size(path):
    try:
        return os.stat(path)[6]
    except OSError:
        return None
"""


def device_digests(repl: Repl, paths: Iterable[str], deadline: Deadline) -> dict[str, str | None]:
    """SHA-256 in hex of each file as the board reads it, None for a file that is not there.

    Where the board's Python has no SHA-256 (some CircuitPython builds), the whole file is read back instead.
    """
    repl.execute(DEFINE_SIZE, deadline, f"{repl.name} to prepare for checking files")
    try:
        repl.execute(DEFINE_DIGEST, deadline, f"{repl.name} to prepare for checking files")
        on_board = True
    except ReplError:
        on_board = False
    found: dict[str, str | None] = {}
    for path in paths:
        if repl.execute(f"print(portbench_size({path!r}))", deadline, f"the size of {path}").strip() == "None":
            found[path] = None
            continue
        if on_board:
            try:
                found[path] = repl.execute(
                    f"print(portbench_digest({path!r}))", deadline, f"the hash of {path}"
                ).strip()
                continue
            except ReplError as error:
                if "OSError" in error.traceback:
                    found[path] = f"unreadable ({error})"
                    continue
                on_board = False
        found[path] = hashlib.sha256(repl.read_file(path, deadline)).hexdigest()
    return found


def check_digests(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Raise BoardError, which names each file, unless the board reads the written contents."""
    found = device_digests(repl, files, deadline)
    bad = []
    for path, content in files.items():
        expected = hashlib.sha256(content).hexdigest()
        if found[path] != expected:
            got = found[path]
            said = "is not there" if got is None else f"reads back as {got[:16]}, not {expected[:16]}"
            bad.append(f"{path} {said}")
    if bad:
        raise BoardError(f"{repl.name}: files are not what was written: {'; '.join(bad)}")
