"""A sweep on disk: `results/sweeps/NAME.jsonl`, a line for each row as it comes, and a run file once all are there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from portbench.files import lock
from portbench.results.model import Row, Status
from portbench.results.storage import StorageError
from portbench.runner.jobs.job import Job


@dataclass(frozen=True)
class Measured:
    """A row, and where it lies on the axes."""

    point: dict[str, Any]
    row: Row


class SweepStore:
    """Of one process at a time. What was on disk when one was killed is there for the next, but for half a line.

    Raises StorageError.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / "sweeps" / f"{name.replace('/', '-')}.jsonl"
        busy = StorageError(f"{self.path}: another sweep of this name runs now; wait for it, or choose another --name")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = lock(self.path.with_suffix(".lock"), busy)
        except OSError as error:
            raise self._fault(error) from error
        try:
            self._rows = self._read()
            self._file = self.path.open("ab")
        except BaseException:
            self._lock.release()
            raise

    def row_of(self, job: Job) -> Row | None:
        """Its row, if it has been measured; one that failed or was skipped is due again."""
        row = self._rows.get(job.id)
        return row if row is not None and row.status is Status.MEASURED else None

    def any_row_of(self, job: Job) -> Row | None:
        return self._rows.get(job.id)

    def append(self, job: Job, row: Row) -> None:
        line = json.dumps({"job": job.id, "point": job.point, "row": row.model_dump(mode="json")}, allow_nan=False)
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._fault(error) from error
        self._rows[job.id] = row

    def close(self) -> None:
        self._file.close()
        self._lock.release()
        self.path.with_suffix(".lock").unlink(missing_ok=True)

    def _read(self) -> dict[str, Row]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._fault(error) from error
        whole = content[: content.rfind(b"\n") + 1]
        rows = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                found = json.loads(line)
                rows[str(found["job"])] = Row.model_validate(found["row"])
            except (ValueError, TypeError, KeyError, RecursionError, ValidationError) as error:
                raise StorageError(
                    f"{self.path}: line {number} is no row of a sweep; remove that line, or choose another --name"
                ) from error
        if len(whole) < len(content):  # killed while it wrote
            os.truncate(self.path, len(whole))
        return rows

    def _fault(self, error: OSError) -> StorageError:
        return StorageError(f"{self.path}: cannot be used ({error.strerror}); make room or make it writable")
