"""The page docs/results.md, made from a run file."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Final

from portbench.results.atomic import replace_file
from portbench.results.model import RunFile, Status
from portbench.results.stats import UNSTABLE_RULE
from portbench.results.storage import StorageError
from portbench.results.table import markdown
from portbench.shown import shown
from portbench.workloads import UnknownWorkload, workload

PAGE: Final = Path("docs/results.md")
"""Of the folder in which portbench was started."""

_ROWS: Final = re.compile(r"^<!-- rows: (.*) -->$", re.MULTILINE)
_READING = f"""## How to read this

*spread* is the largest less the smallest figure of the runs, as a share of their median, which the table shows.
It is left out where no two runs differ. *ready ms* is the time from the client's start to where the workload begins.
*silicon* is what was published for a real board with this firmware and this profile, or with the version in brackets of
the same family; *ratio* is the measured figure divided by it. Tables are ranked each by itself:
their clocks and their limits differ.

{UNSTABLE_RULE}
"""


def page(run: RunFile) -> str:
    """The Markdown page of `run`."""
    started = run.started_utc.strftime("%Y-%m-%d %H:%M UTC")
    state = "" if run.finished_utc is not None else " The run was interrupted; rows measured until then are shown."
    machine = run.machine
    pc = f"{machine.processor}, {machine.cores} cores, {machine.system} {machine.release}, {machine.python}"
    facts = [f"- PC: {pc}"]
    if run.git is not None:
        facts.append(f"- Revision: {run.git.revision}{' with local changes' if run.git.dirty else ''}")
    if run.tools:
        facts.append(f"- Tools: {', '.join(f'{name} {version}' for name, version in sorted(run.tools.items()))}")
    listed = "\n".join(map(shown, facts))
    head = f"# Results\n\nMeasured {started}.{state} Made by `portbench publish`."
    rows = f"<!-- rows: {', '.join(_measured(run))} -->"
    return f"{head}\n\n{listed}\n\n{rows}\n\n{markdown(run)}\n{_READING}{_readings(run)}"


def _measured(run: RunFile) -> list[str]:
    """The rows that have figures, in words that no comment ends at."""
    rows = (row for row in run.rows if row.status is Status.MEASURED)
    names = (" ".join(filter(None, (row.workload, row.where, row.runtime, row.profile, row.board))) for row in rows)
    return sorted({re.sub(r"[^\w. -]+|--+", "-", name) for name in names})


def _readings(run: RunFile) -> str:
    """How the columns of each workload are to be read."""
    paragraphs = []
    for name in dict.fromkeys(row.workload for row in run.rows):
        with contextlib.suppress(UnknownWorkload):  # of somebody whose workloads are not here
            known = workload(name)
            if known.reading:
                paragraphs.append(f"\n{known.title}: {known.reading}\n")
    return "".join(paragraphs)


def lacking(run: RunFile, path: Path) -> list[str]:
    """The rows that the page at `path` has and `run` has not measured."""
    try:
        found = _ROWS.search(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    has = set(_measured(run))
    return [name for name in (found[1].split(", ") if found and found[1] else []) if name not in has]


def publish(run: RunFile, path: Path = PAGE, *, force: bool = False) -> None:
    """Writes the page of `run` to `path`; raises `StorageError`, also where that has rows which `run` has not."""
    if not force and (lost := lacking(run, path)):
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        raise StorageError(
            f"{path}: has {', '.join(lost[:3])}{more}, which this run has not measured;"
            " measure those too, write another page with --output, or give --force"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, page(run))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror}); make it writable") from error
