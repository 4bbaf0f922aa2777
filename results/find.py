"""The run that a person means: a file, `latest`, a name that it was given, or the revision that it was measured at."""

from __future__ import annotations

import re
from pathlib import Path

from portbench.results.model import RunFile
from portbench.results.storage import LATEST, RESULTS_FOLDER, StorageError, read


def find_run(text: str | None, folder: Path = RESULTS_FOLDER) -> RunFile:
    """Of several with a name or revision the newest. Raises StorageError."""
    if text is None or text == LATEST.removesuffix(".json"):
        return read(folder / LATEST)
    if text.endswith(".json") or Path(text).is_file():
        return read(Path(text))
    for path in sorted((folder / "runs").glob("*.json"), reverse=True):
        head = path.read_text(encoding="utf-8", errors="replace").partition('"rows"')[0]
        # Rows are not looked at: there may be thousands of runs.
        named = re.search(r'^ "name": "([^"]*)"', head, re.MULTILINE)
        revision = re.search(r'"revision": "([0-9a-f]+)"', head)
        if (named and named[1] == text) or (len(text) >= 7 and revision and revision[1].startswith(text.lower())):
            return read(path)
    raise StorageError(
        f"{text}: is no run file, no name (portbench run --name {text}) and no revision of a run in {folder}/runs;"
        " measure it first"
    )
