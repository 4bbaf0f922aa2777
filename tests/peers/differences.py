"""Tests that a firmware cannot pass because it is built otherwise than the one that they were written for.

A list has the output of each such test, and the reason. A test with any other output is as wrong as one on no list.
"""

import hashlib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.peers.record import Outcome, Verdict


def explained(test: str, results: Path, known: Iterable[dict[str, Any]]) -> Outcome:
    """A failed test, whose output a script left in the folder `results`: by the list, or wrong, with its last line.

    `tests` of a list's entry: patterns of names. Their output ends with `ends`, or its SHA-256 begins with `prints`.
    """
    output = results / f"{test.replace('/', '_')}.out"
    printed = output.read_bytes() if output.exists() else b""
    said, digest = last_line(printed), hashlib.sha256(printed).hexdigest()
    for entry in known:
        as_listed = said.endswith(entry["ends"]) if "ends" in entry else digest.startswith(entry["prints"])
        if as_listed and any(fnmatchcase(test, pattern) for pattern in entry["tests"]):
            return Outcome(test, Verdict(entry.get("verdict", Verdict.BUILD)), entry["because"])
    return Outcome(test, Verdict.WRONG, said)


def last_line(printed: bytes) -> str:
    """The last line of a test's output, without the word that a script puts behind an exception."""
    lines = [line.strip() for line in printed.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line and line != "CRASH"), "")
