"""The page docs/results.md, made from a run file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.results.atomic import replace_file
from portbench.results.model import RunFile
from portbench.results.stats import UNSTABLE_RULE
from portbench.results.storage import StorageError
from portbench.results.table import markdown

PAGE: Final = Path("docs/results.md")
"""Of the folder in which portbench was started."""

_READING = f"""## How to read this

A *message* is one number sent by the client plus its answer. *messages/s* is the median over the runs of messages
divided by total time; *spread* is the largest less the smallest of those, as a share of the median. *round trip us* and
*p99 us* are the median and the 99th percentile over all messages of all runs. *ready ms* is the time from the client's
start to its connection. *silicon* is what was published for a real board with this firmware and these settings,
*ratio* the measured figure divided by it. Tables are ranked each by itself: their clocks and their limits differ.

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
    listed = "\n".join(facts)
    head = f"# Results\n\nMeasured {started}.{state} Made by `portbench publish`."
    return f"{head}\n\n{listed}\n\n{markdown(run)}\n{_READING}"


def publish(run: RunFile, path: Path = PAGE) -> None:
    """Writes the page of `run` to `path`; raises `StorageError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, page(run))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror}); make it writable") from error
