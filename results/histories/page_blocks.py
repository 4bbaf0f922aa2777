"""The newest figures of runtimes in hand-written pages: the text between two marks is made from the history."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from portbench.files import replace_file
from portbench.results.cells import escape, figure, markdown_table, workload_title
from portbench.results.histories.series import version_order
from portbench.results.histories.store import Entry
from portbench.results.storage import writing

_BLOCK: Final = re.compile(r"(<!-- figures: ([\w .+-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)
_COLUMNS: Final = ("workload", "runtime", "version", "profile", "figure", "unit")


def fill(folder: Path, entries: Sequence[Entry]) -> list[Path]:
    """Write the figures into all pages of `folder`, and return the changed pages. Raises StorageError."""
    changed = []
    for path in sorted(folder.rglob("*.md")):
        with writing(path):
            before = path.read_text(encoding="utf-8")
            after = filled(before, entries)
            if after != before:
                replace_file(path, after)
                changed.append(path)
    return changed


def filled(text: str, entries: Sequence[Entry]) -> str:
    """`text` with the figures of the runtimes that each mark names: `<!-- figures: micropython-1.26.0 -->`."""
    return _BLOCK.sub(lambda found: f"{found[1]}{_table(found[2].split(), entries)}{found[3]}", text)


def _table(runtimes: Iterable[str], entries: Sequence[Entry]) -> str:
    wanted = set(runtimes)
    newest = {
        (entry.workload, entry.runtime, entry.version, entry.profile, entry.where): entry
        for entry in entries
        if entry.runtime in wanted
    }
    if not newest:
        return "\nNothing of it has been measured here.\n\n"
    rows = [
        (
            workload_title(entry.workload),
            entry.runtime,
            entry.version,
            entry.profile or "all",
            figure(entry.value),
            entry.unit,
        )
        for entry in sorted(newest.values(), key=lambda each: (each.workload, version_order(each), each.profile))
    ]
    table = markdown_table(_COLUMNS, rows, right=("figure",))
    where = "; ".join(sorted({f"{entry.where}, {entry.board}" for entry in newest.values()}))
    dates = " and ".join(sorted({entry.measured_utc[:10] for entry in newest.values()}))
    return f"\n{table}\n\n{escape(f'Measured {dates} ({where}).')}\n\n"
