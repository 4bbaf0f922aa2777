"""Run files on disk: `results/runs/<UTC time>.jsonl`, a line per row, and the newest whole in `results/latest.json`."""

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from filelock import FileLock
from pydantic import ValidationError

from portbench.errors import PortbenchError, first_complaint, unwritable
from portbench.files import lock, new_file, replace_file
from portbench.results.model import SCHEMA_VERSION, Row, RunFile

RESULTS_FOLDER: Final = Path("results")
"""The results' folder, in the folder in which portbench was started."""
LATEST: Final = "latest.json"


class StorageError(PortbenchError):
    """A run file cannot be written or read: one line with file, value and fix."""


class RunWriter:
    """Writes one run, a line for each row as it ends. A row is on disk when `append` returns; a kill loses none.

    `folder` gets `runs/`, and `latest.json` with `close`. `resumed`: a file that is written on, after what it has; it
    is made if it is not there. Raises `StorageError` when a file cannot be written.
    """

    def __init__(self, run: RunFile, folder: Path = RESULTS_FOLDER, resumed: Path | None = None) -> None:
        self._run = run
        self._rows: dict[str | int, tuple[int, Row]] = {}
        """By job or number: the place, and the row."""
        self._latest = folder / LATEST
        self._mutex = threading.Lock()
        self._lock: FileLock | None = None
        self.path = resumed or folder / "runs" / run.started_utc.astimezone(UTC).strftime("%Y-%m-%dT%H%M%SZ.jsonl")
        with writing(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if resumed is not None:
                told = f"{resumed}: another run of this name is on; wait for it, or choose another --name"
                self._lock = lock(resumed.with_suffix(".lock"), StorageError(told))
            if resumed is not None and resumed.exists():
                self._take_up(resumed)
            else:
                self._create(_line(run.model_dump(mode="json", exclude={"rows", "finished_utc"})), bool(resumed))
                self._file = self.path.open("ab", buffering=0)
                for row in run.rows:
                    self.append(row)

    @property
    def run(self) -> RunFile:
        """The run as it is on disk, its rows in the order of their places."""
        rows = [row for _, row in sorted(self._rows.values(), key=_place)]
        return self._run.model_copy(update={"rows": rows})

    def append(self, row: Row, job: str | None = None, place: int | None = None) -> None:
        """Adds `row`. That of a `job` replaces an earlier one. `place`: in the plan, by default behind all others."""
        with self._mutex:
            told = {"job": job, "place": place}
            line = {name: value for name, value in told.items() if value is not None}
            self._write(line | {"row": row.model_dump(mode="json")})
            _put(self._rows, line, row)

    def row_of(self, job: str) -> Row | None:
        return self._rows[job][1] if job in self._rows else None

    def finish(self, when_utc: datetime | None = None) -> None:
        """Marks the run as complete."""
        with self._mutex:
            run = self._run.model_copy(update={"finished_utc": when_utc or datetime.now(UTC)})
            self._write(run.model_dump(mode="json", include={"finished_utc"}))
            self._run = run
        self.close()

    def close(self) -> None:
        """The run ends here, complete or not: if it has a row, it is the latest. May be called twice."""
        if self._file.closed:
            return
        self._file.close()
        if self._lock is not None:
            self._lock.release()
        if self._rows:
            write(self._latest, to_json(self.run))

    def _create(self, head: bytes, named: bool) -> None:
        """The file with its first line, since others read it from its first moment. Unless the run is `named`, runs
        that start in one second get -2, -3 and so on."""
        first = self.path
        for number in itertools.count(2):
            try:
                new_file(self.path, head)
                return
            except FileExistsError:
                if named:
                    raise
            self.path = first.with_stem(f"{first.stem}-{number}")

    def _take_up(self, path: Path) -> None:
        self._run = read(path).model_copy(update={"finished_utc": None})
        content = path.read_bytes()
        places = _joined(content.decode(), path)[1]
        self._rows = {key: (places[key][0], row) for key, row in zip(places, self._run.rows, strict=True)}
        os.truncate(path, content.rfind(b"\n") + 1)  # the writer was killed in the middle of the rest
        self._file = path.open("ab", buffering=0)
        self._write({"finished_utc": None})

    def _write(self, line: Mapping[str, Any]) -> None:
        with writing(self.path):
            start = self._file.seek(0, os.SEEK_END)
            left = _line(line)
            try:
                while left:
                    left = left[self._file.write(left) :]
                os.fsync(self._file.fileno())
            except BaseException:
                self._file.truncate(start)
                raise


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


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


def run_files(folder: Path) -> list[Path]:
    """All run files of a results' folder, the oldest first."""
    return sorted(path for pattern in ("runs/*.jsonl", "sweeps/*.jsonl") for path in folder.glob(pattern))


def parse(text: str, path: Path) -> RunFile:
    """The run in `text`, a document or lines; `path` is its file's name, also for messages."""
    if path.suffix == ".jsonl":
        head, rows = _joined(text, path)
        document: Any = head | {"rows": [row for _, row in rows.values()]}
    else:
        document = _loaded(text, str(path))
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise StorageError(
            f"{path}: schema_version is {version!r}, not {SCHEMA_VERSION}; choose a run file of this portbench"
        )
    try:
        return RunFile.model_validate(document)
    except ValidationError as error:
        raise StorageError(f"{path}: {first_complaint(error)}; choose another run file") from error


def _joined(text: str, path: Path) -> tuple[dict[str, Any], dict[str | int, tuple[int, Any]]]:
    """Read from a file's lines the run, and its places and rows in their order; the last of a job counts.

    Half a last line is left out: its writer was killed.
    """
    head: dict[str, Any] = {}
    rows: dict[str | int, tuple[int, Any]] = {}
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1):
        place = f"{path}: line {number}"
        found = _loaded(line, place)
        if not isinstance(found, dict):
            raise StorageError(f"{place} is not an object; it is damaged, choose another run file")
        if "row" in found:
            _put(rows, found, found["row"])
        else:
            head |= found
    return head, dict(sorted(rows.items(), key=lambda each: _place(each[1])))


def _put(rows: dict[str | int, tuple[int, Any]], line: Mapping[str, Any], row: Any) -> None:
    """Rows end in any order; `line` has a row's place in the plan. Without one it is the job's, or the last."""
    key = str(line["job"]) if "job" in line else len(rows)
    place = line.get("place")
    rows[key] = (place if isinstance(place, int) else rows[key][0] if key in rows else len(rows), row)


def _place(placed: tuple[int, Any]) -> int:
    return placed[0]


def _loaded(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise StorageError(f"{place}: is not JSON ({reason}); it is damaged, choose another run file") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """A block that writes the file or the folder `path`. Raises StorageError in place of OSError."""
    try:
        yield
    except OSError as error:
        raise StorageError(unwritable(path, error)) from error


def write(path: Path, content: str | bytes) -> None:
    """Replace the file `path`, in a folder that may be new. Raises StorageError."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)


def find_run(text: str | None, folder: Path = RESULTS_FOLDER) -> RunFile:
    """The run that a user names by a file, `latest`, its name, or the revision at which it was measured.

    Of several with one name or revision, the newest. Raises StorageError.
    """
    if text is None or text == LATEST.removesuffix(".json"):
        return read(folder / LATEST)
    if text.endswith((".json", ".jsonl")) or Path(text).is_file():
        return read(Path(text))
    for path in reversed(run_files(folder)):
        name, revision = _known_by(path)
        if name == text or (len(text) >= 7 and revision.startswith(text.lower())):
            return read(path)
    raise StorageError(
        f"{text}: is not a run file, a name (portbench run --name {text}) or a revision of a run in {folder}/runs;"
        " measure it first"
    )


def _known_by(path: Path) -> tuple[str, str]:
    """The name and the revision of a run. Rows are not read, since there may be thousands of runs."""
    with path.open(encoding="utf-8", errors="replace") as file, contextlib.suppress(ValueError, AttributeError):
        head = json.loads(file.readline())
        return head.get("name") or "", (head.get("git") or {}).get("revision") or ""
    return "", ""
