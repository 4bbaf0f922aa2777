"""The page of a run, from its sections and one template."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portbench.results.answer import answer, not_at_hand
from portbench.results.csv_export import rows_csv, samples_csv
from portbench.results.histories.store import Entry
from portbench.results.model import RunFile
from portbench.results.page.drawing import page_libraries
from portbench.results.page.history import history_part
from portbench.results.page.parts import Data, PagePart, Paragraph, Section, paragraphs
from portbench.results.page.pinout import BoardPicture, board_part
from portbench.results.page.sections import sections
from portbench.results.storage import to_json
from portbench.results.table import not_measured, panels

_FOLDER: Final = Path(__file__).parent
_TEMPLATE: Final = "page.html.j2"
_MARKED: Final = re.compile(r"https?://(?P<address>[^\s<>\"]*[^\s<>\".,:;)])|`(?P<code>[^`]+)`")


@dataclass(frozen=True)
class Download:
    """A file that the page carries, packed with gzip."""

    name: str
    what: str
    kind: str
    address: str

    @classmethod
    def of(cls, name: str, what: str, kind: str, text: str) -> Download:
        packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
        return cls(name, what, kind, f"data:application/gzip;base64,{packed}")


def html_page(
    run: RunFile,
    rows: str,
    reading: list[str],
    history: Sequence[Entry] = (),
    preview: str | None = None,
    pictures: Sequence[BoardPicture] = (),
) -> str:
    """`rows`: from `publish.measured_rows`; `reading`: explanations of the columns; `preview`: the address of a
    picture for links to the page; `pictures`: of the boards. Raises LibraryMissing."""
    with page_libraries():
        import jinja2
    measured = panels(run)
    parts = [PagePart(panel.title, tuple(sections(panel))) for panel in measured]
    first = answer(measured[0].groups, measured[0].where) if measured else []
    boards = dict.fromkeys(row.board for panel in measured for group in panel.groups if (row := group.first).board)
    if past := history_part(history):
        parts.append(past)
    parts += filter(None, (_missing(run), board_part(pictures)))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    downloads = (
        Download.of("rows.csv", "a line for each run of a row", "text/csv", rows_csv(run.rows)),
        Download.of("samples.csv", "a line for each sample", "text/csv", samples_csv(run.rows)),
        Download.of("run.json", "everything, with waveforms and attribution", "application/json", to_json(run)),
    )
    environment.filters["linked"] = _linked
    return (
        environment.get_template(_TEMPLATE).render(
            facts=_facts(run),
            title=f"Which Python firmware is fastest on {', '.join(map(str, boards)).replace('_', '-') or 'a board'}?",
            says=first[0] if first else "Figures of firmware, measured by portbench.",
            preview=preview,
            rows=rows,
            parts=parts,
            reading=reading,
            downloads=downloads,
            style=(_FOLDER / "page.css").read_text(encoding="utf-8"),
            script=(_FOLDER / "page.js").read_text(encoding="utf-8"),
        )
        + "\n"
    )


def _linked(text: str) -> str:
    """With its addresses as links and its names as code. `Markup` escapes all text that it takes in."""
    with page_libraries():
        from markupsafe import Markup
    made, end = Markup(""), 0
    for found in _MARKED.finditer(text):
        form = '<a href="{0}">{1}</a>' if found["code"] is None else "<code>{2}</code>"
        made += text[end : found.start()] + Markup(form).format(found[0], found["address"], found["code"])
        end = found.end()
    return made + text[end:]


def _facts(run: RunFile) -> dict[str, str]:
    """The facts of the run, by name."""
    facts = {"measured": run.started_utc.strftime("%Y-%m-%d %H:%M UTC")}
    if run.finished_utc is None:
        facts["state"] = "interrupted; rows measured until then are here"
    if run.name:
        facts["name"] = run.name
    return facts | measured_with(run)


def measured_with(run: RunFile) -> dict[str, str]:
    """The PC, the revision and the tools of the run."""
    machine = run.machine
    facts = {"PC": f"{machine.processor}, {machine.cores} cores, {machine.system} {machine.release}, {machine.python}"}
    if run.git is not None:
        facts["revision"] = f"{run.git.revision}{' with local changes' if run.git.dirty else ''}"
    if run.tools:
        facts["tools"] = ", ".join(f"{name} {version}" for name, version in sorted(run.tools.items()))
    return facts


def _missing(run: RunFile) -> PagePart | None:
    """Rows without figures, and commands that download missing images."""
    table = not_measured(run)
    made = []
    if table.rows:
        about = (Paragraph(table.about),)
        made.append(Section("Skipped or failed", about, Data("not-measured", table.columns, table.rows)))
    if lines := not_at_hand(run.rows):
        made.append(Section("Images that were not at hand", paragraphs(lines)))
    return PagePart("Not measured", tuple(made)) if made else None
