"""Run files on disk: `results/runs/<UTC time>.json`, with a copy of the newest in `results/latest.json`."""

from __future__ import annotations

import itertools
import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from portbench.errors import PortbenchError
from portbench.files import new_file, replace_file
from portbench.results import schema1
from portbench.results.model import SCHEMA_VERSION, Row, RunFile

RESULTS_FOLDER: Final = Path("results")
"""Of the folder in which portbench was started."""
LATEST: Final = "latest.json"


class StorageError(PortbenchError):
    """A run file cannot be written or read: one line with file, value and fix."""


class RunWriter:
    """Writes one run. Every row is on disk when `append` returns, so an interruption loses none.

    Threads may share it. `folder` gets `runs/` and, with the first row, `latest.json`. Raises `StorageError` when it
    cannot be written.
    """

    def __init__(self, run: RunFile, folder: Path = RESULTS_FOLDER) -> None:
        self._run = run
        self._folder = folder
        self._mutex = threading.Lock()
        self.path = self._create()

    @property
    def run(self) -> RunFile:
        """The run as it is on disk."""
        return self._run

    def append(self, row: Row) -> None:
        """Adds `row` to the file."""
        with self._mutex:
            self._store(self._run.with_row(row))

    def finish(self, when_utc: datetime | None = None) -> None:
        """Marks the run as complete."""
        with self._mutex:
            self._store(self._run.finished(when_utc or datetime.now(UTC)))

    def _create(self) -> Path:
        """The file under a free name: runs that start in one second get -2, -3 and so on."""
        runs = self._folder / "runs"
        stem = self._run.started_utc.astimezone(UTC).strftime("%Y-%m-%dT%H%M%SZ")
        try:
            runs.mkdir(parents=True, exist_ok=True)
            for number in itertools.count(1):
                path = runs / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")
                try:
                    new_file(path, to_json(self._run))
                    return path
                except FileExistsError:
                    continue
        except OSError as error:
            raise _cannot_write(runs, error) from error
        raise AssertionError("itertools.count ends")

    def _store(self, run: RunFile) -> None:
        try:
            replace_file(self.path, to_json(run))
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._run = run
        self._copy_to_latest()

    def _copy_to_latest(self) -> None:
        path = self._folder / LATEST
        try:
            replace_file(path, to_json(self._run))
        except OSError as error:
            raise _cannot_write(path, error) from error


def to_json(run: RunFile) -> str:
    """The run file's text: a line per field, a row on one line."""
    document = run.model_dump(mode="json", exclude={"rows"})
    head = json.dumps(document, indent=1, allow_nan=False).removesuffix("\n}")
    rows = ",\n  ".join(json.dumps(row.model_dump(mode="json"), allow_nan=False) for row in run.rows)
    return f'{head},\n "rows": [\n  {rows}\n ]\n}}\n' if rows else f'{head},\n "rows": []\n}}\n'


def read(path: Path) -> RunFile:
    """The run in the file `path`; raises `StorageError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StorageError(f"{path}: there is no such file; measure first: portbench run") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror}); name a readable run file") from error
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{path}: byte {error.start} is not UTF-8; it is damaged, choose another run file"
        ) from error
    return parse(text, path)


def parse(text: str, path: Path) -> RunFile:
    """The run in `text`; `path` is its file's name for messages."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise StorageError(f"{path}: is not JSON ({reason}); it is damaged, choose another run file") from error
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version == 1 and not isinstance(version, bool):
        document, version = schema1.upgraded(document), SCHEMA_VERSION
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise StorageError(
            f"{path}: schema_version is {version!r}, not 1 or {SCHEMA_VERSION}; choose a run file of this portbench"
        )
    try:
        return RunFile.model_validate(document)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in detail["loc"]).encode("unicode_escape").decode()
        value = repr(detail["input"])
        value = value if len(value) <= 60 else value[:57] + "..."
        message = detail["msg"].removeprefix("Value error, ")
        raise StorageError(f"{path}: {place} is {value}: {message}; choose another run file") from error


def _cannot_write(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written ({error.strerror}); make room or make it writable")
