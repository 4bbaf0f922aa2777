"""The history of runs: small files that no later run changes, so that branches of git merge.

`history/RUNTIME/VERSION/UTC TIME-REVISION.jsonl` holds a line for each group of a run's rows of that firmware:
measurement, conditions, and its headline figure run by run. Samples and attribution stay in the run file.
"""

import contextlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final, Literal

from annotated_types import Gt, MinLen
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from portbench.errors import first_complaint
from portbench.files import new_file
from portbench.results.attribution import Line
from portbench.results.model import Row, RunFile, without_bridged
from portbench.results.stats import Group
from portbench.results.storage import StorageError, read, run_files, writing
from portbench.results.table import panels
from portbench.where import Where

FOLDER: Final = "history"
"""Name within the results' folder."""
_SCHEMA: Final = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One firmware in one run under one set of conditions."""

    measured_utc: Line
    """When the run began, as ISO 8601 in UTC to the second."""
    run: Line
    """The run file, by its name in `runs/`."""
    revision: Line
    """Revision of the project's work tree; empty outside one."""
    runtime: Line
    version: Line
    build: Line
    family: Line
    workload: Line
    where: Line
    timed_by: Line
    board: Line
    profile: Line
    settings: dict[Line, bool | int | float | Line]
    seed: int | None
    """None: nothing varied, or the variation is unknown."""
    figure: Line
    unit: Line
    better: Literal["higher", "lower"]
    values: Annotated[list[Annotated[float, Gt(0)]], MinLen(1)]
    """One value for each run of the row."""
    image_sha256: Line | None = None
    conditions: dict[Line, Any] | None = None
    """Conditions of the rows that decide their figures; None: not known, in files of schema 1."""
    schema: int = _SCHEMA

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def image(self) -> str:
        """Argument for `portbench compare`: the id of the catalogue, or the file that was measured."""
        return self.build if self.build.removesuffix(".uf2") == self.runtime else self.runtime

    @property
    def is_exact(self) -> bool:
        """True if another run would give the same values to the last digit."""
        return self.where == Where.EMULATED and self.seed is None


_ENTRY: Final[TypeAdapter[Entry]] = TypeAdapter(Annotated[Entry, BeforeValidator(without_bridged)])


def entries_of(run: RunFile, file: str) -> list[Entry]:
    """The entries of `run` for the history; `file` is the name of its file."""
    return [_entry(run, file, group) for panel in panels(run) for group in panel.groups]


def entries_of_commit(run: RunFile, title: str, image: str) -> list[Entry]:
    """The entries of a commit's `image`, with a value for each layout of the flash in which it ran."""
    found = []
    for group in (group for panel in panels(run) for group in panel.groups):
        entry = _entry(run, image, group)
        drawn = [] if group.layouts is None else [each[entry.figure] for each in group.layouts.drawn]
        found.append(replace(entry, runtime=image, build=image, version=title, values=drawn or entry.values))
    return found


def keep(run: RunFile, file: str, folder: Path) -> list[Path]:
    """Write the kept part of `run` below `folder`, unless it is there. Returns the new files. Raises StorageError."""
    together: dict[Path, list[Entry]] = {}
    for entry in entries_of(run, file):
        stamp = re.sub(r"[^0-9TZ]", "", entry.measured_utc)
        name = "-".join(filter(None, (stamp, Path(file).stem.rpartition("Z")[2].strip("-"), entry.revision[:12])))
        place = folder / file_name(entry.runtime) / file_name(entry.version or "unknown") / f"{file_name(name)}.jsonl"
        together.setdefault(place, []).append(entry)
    written = []
    for path, entries in together.items():
        lines = sorted(json.dumps(asdict(entry), sort_keys=True, allow_nan=False) for entry in entries)
        with writing(path), contextlib.suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            new_file(path, "".join(f"{line}\n" for line in lines))
            written.append(path)
    return written


def keep_finished(results: Path, folder: Path) -> list[Path]:
    """Add the finished runs of a results' folder that the history lacks. Raises StorageError."""
    kept = {entry.run for entry in load(folder)}
    written = []
    for path in run_files(results):
        if path.name not in kept and (run := read(path)).finished_utc is not None:
            written += keep(run, path.name, folder)
    return written


def load(folder: Path) -> list[Entry]:
    """All that is kept below `folder`, in the order of time. Raises StorageError."""
    found = [entry for path in folder.glob("*/*/*.jsonl") for entry in _read(path)]
    return sorted(
        found, key=lambda entry: (entry.measured_utc, entry.run, entry.runtime, entry.workload, entry.profile)
    )


def _read(path: Path) -> Iterable[Entry]:
    """A file is checked when written; a later change is reported with its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{path}: cannot be read ({error}); restore it, or remove it") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            yield _ENTRY.validate_json(line, strict=False)
        except ValidationError as error:
            reason = first_complaint(error)
            raise StorageError(f"{path}: line {number}: {reason}; restore the file, or remove it") from None


def _entry(run: RunFile, file: str, group: Group) -> Entry:
    row = group.first
    return Entry(
        measured_utc=run.started_utc.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        run=file,
        revision=run.git.revision if run.git else "",
        runtime=row.runtime,
        version=row.version,
        build=row.build,
        family=row.family,
        workload=row.workload,
        where=str(row.where),
        timed_by=row.timed_by,
        board=row.board or "",
        profile=row.profile or "",
        settings=dict(row.settings),
        seed=row.sim.seed if row.sim else None,
        figure=group.headline.name,
        unit=group.headline.unit,
        better=group.headline.better,
        values=[value for each in group.rows if (value := each.value) is not None],
        image_sha256=row.image_sha256,
        conditions=_deciding(row),
    )


def _deciding(row: Row) -> dict[str, Any]:
    """Conditions that were asked for, with the names of the user's libraries. The real SPI clock follows from them; a
    measured turnaround varies by the run."""
    measured = {"spi_hz_actual"} if row.where is Where.EMULATED else {"spi_hz_actual", "turnaround_us"}
    asked = row.conditions.model_dump(mode="json", exclude=measured, exclude_none=True)
    return asked | ({"libraries": list(row.libraries)} if row.libraries else {})


def file_name(text: str) -> str:
    """`text` as a file name that cannot leave the folder."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
