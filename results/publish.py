"""The page docs/results.md, made from a run file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from portbench.results.atomic import replace_file
from portbench.results.model import RunFile
from portbench.results.stats import UNSTABLE_RULE
from portbench.results.storage import StorageError
from portbench.results.table import markdown
from portbench.shown import shown
from portbench.workloads import UnknownWorkload, workload

PAGE: Final = Path("docs/results.md")
"""Of the folder in which portbench was started."""

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
    return f"{head}\n\n{listed}\n\n{markdown(run)}\n{_READING}{_readings(run)}"


def _readings(run: RunFile) -> str:
    """How the columns of each workload are to be read."""
    paragraphs = []
    for name in dict.fromkeys(row.workload for row in run.rows):
        with contextlib.suppress(UnknownWorkload):  # of somebody whose workloads are not here
            known = workload(name)
            if known.reading:
                paragraphs.append(f"\n{known.title}: {known.reading}\n")
    return "".join(paragraphs)


def publish(run: RunFile, path: Path = PAGE) -> None:
    """Writes the page of `run` to `path`; raises `StorageError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, page(run))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror}); make it writable") from error
