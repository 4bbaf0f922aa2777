"""The run that a user names: by a file, `latest`, its name, or the revision at which it was measured."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

from portbench.results.model import RunFile
from portbench.results.storage import LATEST, RESULTS_FOLDER, StorageError, read, run_files


def find_run(text: str | None, folder: Path = RESULTS_FOLDER) -> RunFile:
    """The run named `text`; of several with one name or revision, the newest. Raises StorageError."""
    if text is None or text == LATEST.removesuffix(".json"):
        return read(folder / LATEST)
    if text.endswith((".json", ".jsonl")) or Path(text).is_file():
        return read(Path(text))
    for path in reversed(run_files(folder)):
        name, revision = _known_by(path)
        if name == text or (len(text) >= 7 and revision.startswith(text.lower())):
            return read(path)
    raise StorageError(
        f"{text}: is no run file, no name (portbench run --name {text}) and no revision of a run in {folder}/runs;"
        " measure it first"
    )


def _known_by(path: Path) -> tuple[str, str]:
    """The name and the revision of a run. Rows are not read, since there may be thousands of runs."""
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8", errors="replace") as file, contextlib.suppress(ValueError, AttributeError):
            head = json.loads(file.readline())
            return head.get("name") or "", (head.get("git") or {}).get("revision") or ""
        return "", ""
    head = path.read_text(encoding="utf-8", errors="replace").partition('"rows"')[0]
    named = re.search(r'^ "name": "([^"]*)"', head, re.MULTILINE)
    revision = re.search(r'"revision": "([0-9a-f]+)"', head)
    return named[1] if named else "", revision[1] if revision else ""
