"""The pages of a run file: docs/results.md with its chart, and one of HTML."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urljoin

from portbench.results.cells import escape
from portbench.results.histories.store import Entry
from portbench.results.model import RunFile, Status
from portbench.results.page.build import html_page, measured_with
from portbench.results.page.drawing import picture, preview
from portbench.results.page.pinout import BoardPicture
from portbench.results.page.sections import ranking
from portbench.results.shipped import without_samples
from portbench.results.stats import UNSTABLE_RULE, known_workload
from portbench.results.storage import StorageError, read, to_json, write
from portbench.results.table import Panel, markdown, panels, tables
from portbench.toml_files import read_text

PAGE: Final = Path("docs/results.md")
"""The page, in the folder in which portbench was started."""
CHART: Final = Path("docs/images/results.svg")
"""The first table as a picture, in the same folder."""
HTML_PAGE: Final = "page.html"
"""Name within the results' folder."""
_PREVIEW_ROWS: Final = 5
_WIDTH: Final = 100
"""Characters of a table's line that GitHub shows beside its own columns."""

_ROWS: Final = re.compile(r"^<!-- rows: (.*) -->$", re.MULTILINE)
_PLACE: Final = re.compile(r"(<!-- results -->\n).*?(<!-- /results -->)", re.DOTALL)
_READING: Final = (
    "*spread* is the largest less the smallest figure of the runs, as a share of their median, which the table shows."
    " It is left out where no two runs differ. *ready ms* is the time from the client's start to where the workload"
    " begins.",
    "*silicon* is the published figure of a real board with this firmware and this profile, or with the version in"
    " brackets of the same family; *ratio* is the measured figure divided by it. Tables are ranked each by itself:"
    " their clocks and their limits differ.",
)

_PROFILES: Final = (
    "A *profile* is a set of settings. *as-published* has those of the published figures: for MicroPython, SPI at 2 MHz"
    " and no interrupt pin. *tuned* has fast ones: for MicroPython, 20 MHz, and the interrupt pin if its driver takes"
    " one."
)


def page(run: RunFile) -> str:
    """The Markdown page of `run`."""
    started = run.started_utc.strftime("%Y-%m-%d %H:%M UTC")
    state = "" if run.finished_utc is not None else " The run was interrupted; rows measured until then are shown."
    facts = "\n".join(escape(f"- {name[0].upper()}{name[1:]}: {value}") for name, value in measured_with(run).items())
    head = f"# Results\n\nMeasured {started}.{state} Made by `portbench show publish`.{_profiles(run)}"
    rows = f"<!-- rows: {measured_rows(run)} -->"
    reading = "\n".join(f"{paragraph}\n" for paragraph in _readings(run))
    return f"{head}\n\n{rows}\n\n{markdown(run, _WIDTH)}\n## How to read this\n\n{reading}\n{facts}\n"


def html(
    run: RunFile,
    history: Sequence[Entry] = (),
    preview: str | None = None,
    pictures: Sequence[BoardPicture] = (),
) -> str:
    """The page of `run` in HTML, with the history of earlier runs, the address of a picture for links to it, and
    `pictures` of its boards. Raises LibraryMissing."""
    reading = [text.replace("*", "").strip() for text in (_profiles(run), *_readings(run)) if text]
    return html_page(run, measured_rows(run), reading, history, preview, pictures)


def chart(run: RunFile) -> str:
    """The first table of `run` as an SVG file. Raises LibraryMissing and StorageError."""
    if not (measured := panels(run)):
        raise StorageError("no row was measured; a chart needs one")
    return picture(lambda width: _titled(measured[0], width))


def _text(run: RunFile, path: Path, history: Sequence[Entry], address: str, pictures: Sequence[BoardPicture]) -> str:
    """The page in the form that its name's end asks for."""
    match path.suffix.lower():
        case ".svg":
            return chart(run)
        case ".json":
            return to_json(without_samples(run))
        case ".html" | ".htm":
            shown_by_links = urljoin(address, path.with_suffix(".png").name) if panels(run) else None
            return html(run, history, shown_by_links, pictures)
    return page(run)


def _preview(run: RunFile, path: Path) -> dict[Path, bytes]:
    """The picture that a link to a page of HTML shows: the best rows of its first table, in the shape of a preview."""
    if path.suffix.lower() not in (".html", ".htm") or not (measured := panels(run)):
        return {}
    return {path.with_suffix(".png"): preview(lambda width: _titled(measured[0], width, _PREVIEW_ROWS))}


def _titled(panel: Panel, width: int, most: int | None = None) -> dict[str, Any]:
    """A drawing that stands alone: its title has the unit of the figures."""
    return ranking.drawing(panel, width, most) | {"title": f"{panel.title}, {panel.groups[0].headline.unit}"}


def _profiles(run: RunFile) -> str:
    named = {row.profile for row in run.rows}
    return f" {_PROFILES}" if {"as-published", "tuned"} <= named else ""


def measured_rows(run: RunFile) -> str:
    """The rows that have figures, as text that cannot end an HTML comment."""
    return ", ".join(_measured(run))


def _measured(run: RunFile) -> list[str]:
    rows = (row for row in run.rows if row.status is Status.MEASURED)
    names = (" ".join(filter(None, (row.workload, row.where, row.runtime, row.profile, row.board))) for row in rows)
    return sorted({re.sub(r"[^\w. -]+|--+", "-", name) for name in names})


def _readings(run: RunFile) -> list[str]:
    """Explanations of the columns, of all tables and of each workload."""
    paragraphs = [*_READING, UNSTABLE_RULE]
    for name in dict.fromkeys(row.workload for row in run.rows):
        if (known := known_workload(name)) is not None and known.reading:
            paragraphs.append(f"{known.title}: {known.reading}")
    return paragraphs


def lacking(run: RunFile, path: Path) -> list[str]:
    """The rows that the page at `path` has and `run` has not measured."""
    if path.suffix.lower() == ".json":
        return sorted({*(_measured(read(path)) if path.exists() else [])} - {*_measured(run)})
    try:
        found = _ROWS.search(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    has = set(_measured(run))
    return [name for name in (found[1].split(", ") if found and found[1] else []) if name not in has]


def into(run: RunFile, path: Path, chart: Path | None = None) -> None:
    """Put the run's first table, or its `chart`, and the answer between the marks of the page at `path`.

    Raises PortbenchError.
    """
    before = read_text(path)
    if not _PLACE.search(before):
        raise StorageError(
            f"{path}: has no place for a table; put <!-- results --> and <!-- /results --> where it goes"
        )
    first = tables(run)[:1]
    if not first:
        text = "Nothing was run.\n"
    elif chart is None:
        text = first[0].excerpt(_WIDTH)
    else:
        link = quote(Path(os.path.relpath(chart, path.parent)).as_posix())
        title = escape(f"{first[0].title}, {panels(run)[0].groups[0].headline.unit}")
        text = f"![{title}]({link})\n\n{first[0].short_answer()}"
    after = _PLACE.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", before, count=1)
    if after != before:
        write(path, after)


def publish(
    run: RunFile,
    paths: Sequence[Path] = (PAGE,),
    *,
    history: Sequence[Entry] = (),
    force: bool = False,
    address: str = "",
    pictures: Sequence[BoardPicture] = (),
) -> None:
    """Write the pages of `run` as each name's end asks (HTML, SVG, JSON, else Markdown): all, or none. A page of HTML
    has `pictures` of boards, and one beside it, which links to `address`, where the page will be, show.

    Raises LibraryMissing, and `StorageError`, also where there is a page with rows which `run` has not.
    """
    for path in paths:
        if not force and (lost := lacking(run, path)):
            more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
            raise StorageError(
                f"{path}: has {', '.join(lost[:3])}{more}, which this run has not measured;"
                " measure those too, write another page with --output, or give --force"
            )
    texts: dict[Path, str | bytes] = {path: _text(run, path, history, address, pictures) for path in paths}
    for path in paths:
        texts |= _preview(run, path)
    for path, text in texts.items():
        write(path, text)
