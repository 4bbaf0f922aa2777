"""A run file whose every text is hostile, all at once: no output changes its structure, and none is obeyed."""

import copy
import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from portbench.results import boards_beside, csv_export, publish, storage, table
from portbench.results.answer import not_at_hand
from portbench.results.attribution import Attribution, Function
from portbench.results.compare import compare
from portbench.results.compare_table import markdown
from portbench.results.histories import page_blocks
from portbench.results.histories.series import over_time
from portbench.results.histories.store import Entry, keep, load
from portbench.results.histories.table import histories
from portbench.results.histories.table import markdown as history_markdown
from portbench.results.model import Layouts, RunFile
from portbench.results.page.pinout import BoardPicture, HeaderPin
from tests.results.page_run import FULL
from tests.results.rows import START, other_row
from tests.test_outlets import obeyed

HOSTILE: Final = (
    "=cmd|'/C calc'!A0</title></script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>-->]]></text></svg><b>",
    "-2+3+cmd|'/C calc'!A0\x1b[2J\x1b]0;title\x07\x9b31m\x00\u202egpj.exe\u2066\u200f\ufffe\uffff"
    " one\r\n# two\n\n| three |\n|---|\u2028\x0b\x0c\x85",
    "+SUM(1)[x](javascript:alert(1))\\[x](javascript:alert(1))![x](javascript:alert(1))"
    "<javascript:alert(1)> a|b\\|c]](x)[",
    "\t=1+1 &lt;script>&#x202e;&#27;${7*7}{{7*7}}{%1%}%s<!-- /results --><!-- rows: none -->,"
    " '; x; $(x) `x` # javascript:alert(1)",
)
PLAIN: Final = "plain"
_IN_LINES: Final = {
    "text",
    "code_inline",
    "text_special",
    "softbreak",
    "inline",
    "th_open",
    "th_close",
    "td_open",
    "td_close",
}
_ADDRESS: Final = "https://example.org/"
_ENUMS: Final = {
    "where",
    "status",
    "better",
    "timed_by",
    "started_utc",
    "finished_utc",
    "released",
    "address_mode",
    "sender",
}
_KEYS: Final = {"settings", "samples", "tools", "counters", "room", "counts", "interrupts", "registers", "access_point"}
"""Fields whose names come from elsewhere."""
_FIGURES: Final = {"figures", "linked", "free", "drawn"}
"""Those whose names are the workload's."""


def _run() -> dict[str, Any]:
    """Make a run of FULL, with what it lacks."""
    rows = [row.model_copy() for row in FULL.rows]
    function = Function(name="f", address="0x10000000", bytes=9, misses=3, known_by="map", section=".text.f")
    spans = rows[0].attribution
    assert spans is not None
    more = spans.model_dump() | {"functions": [function]}
    more["spans"] |= {"counts": {"spi_frames": [2, 3]}, "interrupts": {"IRQ": [1, 1]}, "registers": {"S0 read": [1, 1]}}
    figures = {"messages_per_s": 2000.0}
    rows[0] = rows[0].model_copy(
        update={
            "attribution": Attribution.model_validate(more),
            "layouts": Layouts(linked=figures, free=figures, drawn=[figures, figures]),
        }
    )
    run = json.loads(storage.to_json(FULL.model_copy(update={"rows": [*rows, other_row(20, runtime="fast")]})))
    run["rows"][0] |= {"note": "a note", "image_file": "a.uf2", "log": "a.log"}
    for each in run["rows"]:
        each["board"] = "A"
    run["rows"][0]["offers"]["python"] = "MicroPython 1.26"
    run["rows"][0]["settings"]["word"] = "a word"
    run["rows"][0]["sim"] = {"seed": 1, "room": {"link_us": 1.0}, "counters": {"bytes": 4}}
    run["rows"][-2]["console_tail"] = ["last words"]
    return dict(run)


def _attacked(text: str, *, known: bool) -> RunFile:
    """All texts begin with `text`, each with another end. `known`: workloads and families stay those of portbench."""
    kept = _ENUMS | ({"workload", "family"} if known else set())
    told = 0

    def other(value: str) -> str:
        return f"{text} {value}"

    def walk(value: Any, key: str) -> Any:
        nonlocal told
        if isinstance(value, dict):
            own = key in _KEYS or (key in _FIGURES and not known)
            return {(other(name) if own else name): walk(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner, key) for inner in value]
        if not isinstance(value, str) or key in kept or re.fullmatch("[0-9a-f]{64}|0x[0-9a-f]{8}|map", value):
            return value
        if key == "name" and value in ("messages_per_s", "lag_us") and known:
            return value
        told += 1
        return f"{_ADDRESS}{other(value)}" if key in ("image_url", "sources") else other(value)

    run = storage.parse(json.dumps(walk(copy.deepcopy(_run()), "")), Path("run.json"))
    assert told > 60
    return run


def _history(run: RunFile, text: str, folder: Path) -> list[Entry]:
    """Return the entries of a history that was written by hand."""
    for day in range(1, 3):
        keep(run.model_copy(update={"started_utc": START.replace(day=day)}), f"{day}.json", folder)
    for path in folder.glob("*/*/*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            line |= {
                name: f"{text} {value}"
                for name, value in line.items()
                if isinstance(value, str) and name not in _ENUMS | {"measured_utc"}
            }
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return load(folder)


class Page(HTMLParser):
    """Elements, the names of their attributes, where they lead, and comments."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.structure: list[tuple[str, ...]] = []
        self.leads: list[str] = []
        self.comments: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "code":  # what stands in backticks
            self.structure.append((tag, *(name for name, _ in attrs if name not in ("class", "data-number"))))
        self.leads += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href", "action")]

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def _blocks(text: str) -> list[str]:
    """The structure of a page of Markdown, without columns: a narrow page leaves some out."""
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in block.splitlines()}) == 1, block
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = (child for token in tokens for child in token.children or ())
    structure = [token.type for token in (*tokens, *inner) if token.type not in _IN_LINES]
    leads = [str(token.attrs[name]) for token in inner for name in ("href", "src") if name in token.attrs]
    assert not [lead for lead in leads if "javascript" in lead]
    assert [token.content for token in tokens if token.type == "html_block"] == re.findall(
        r"^<!-- (?:rows: .*|results|/results|figures: .*|/figures) -->\n?", text, re.MULTILINE
    )
    return structure


def _pages(text: str, folder: Path, *, known: bool) -> Iterator[tuple[str, Any]]:
    """The name and the structure of each output."""
    run = _attacked(text, known=known)
    history = _history(run, text, folder / "history")
    pins = tuple(HeaderPin(number, run.rows[0].runtime, run.rows[0].build) for number in range(2))
    picture = BoardPicture(run.rows[0].runtime, (run.rows[0].build,), pins, pins, (run.rows[0].version,))
    pages = [folder / name for name in ("page.md", "page.html", "chart.svg", "page.json")]
    publish.publish(run, pages, history=history, address=_ADDRESS, pictures=[picture])
    assert (folder / "page.png").read_bytes().startswith(b"\x89PNG")
    assert storage.read(folder / "page.json").rows
    html = (folder / "page.html").read_text(encoding="utf-8")
    page = Page(html)
    assert len(page.comments) == 1
    assert all(re.match(r"https://|#|data:(?:text/csv|application/(?:json|gzip))[;,]|data:,$", to) for to in page.leads)
    yield "html", page.structure
    yield "html's CSV", [_lengths(unquote(to.partition(",")[2])) for to in page.leads if to.startswith("data:text/csv")]
    svg = (folder / "chart.svg").read_text(encoding="utf-8")
    yield "svg", [element.tag for element in ElementTree.fromstring(svg).iter()]
    own = folder / "own.md"
    for chart in (None, folder / "chart.svg"):
        own.write_text("<!-- results -->\n<!-- /results -->\n")
        publish.into(run, own, chart)
        yield f"into {chart and chart.name}", _blocks(own.read_text(encoding="utf-8"))
    steps = {number: each.steps() for number, each in enumerate(histories(history))}
    figures = f"<!-- figures: {PLAIN} -->\n<!-- /figures -->\n"
    named = [Entry(**(vars_of(each) | {"runtime": PLAIN})) for each in history]
    said = {
        "markdown": (folder / "page.md").read_text(encoding="utf-8"),
        "compared": markdown(compare(run, _slower(run)), 0.02),
        "beside": boards_beside.markdown(run, run),
        "history": history_markdown(histories(history), steps),
        "figures": page_blocks.filled(figures, named),
    }
    for name, words in said.items():
        yield name, _blocks(words)
    assert run.rows[0].runtime.partition(" ")[0][:3] in storage.to_json(run) or text != PLAIN
    for name, words in (("rows", csv_export.rows_csv(run.rows)), ("samples", csv_export.samples_csv(run.rows))):
        yield name, _lengths(words)
        said[name] = words
    out = io.StringIO()
    Console(file=out, width=200).print(table.terminal(run, 200), crop=False)
    for words in (out.getvalue(), html, svg, storage.to_json(run), *said.values()):
        assert not obeyed(words, lines=True) and not set(words) & {"\ufffe", "\uffff"}
    yield "commands", [len(shlex.split(line, comments=True)) for line in _commands(run, history)]


def _lengths(text: str) -> list[int]:
    """Return the lengths of the lines of CSV, in which a spreadsheet finds nothing to calculate."""
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert not [cell for line in lines for cell in line if re.match(r"[=+@\t]|-(?![\d.]*$)", cell)]
    return [len(line) for line in lines]


def vars_of(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in Entry.__slots__}


def _slower(run: RunFile) -> RunFile:
    """Half as fast."""

    def twice(value: Any, is_time: bool = False) -> Any:
        if isinstance(value, dict):
            return {
                key: twice(inner, is_time or key in ("figures", "causes_ps", "duration_ps"))
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [twice(inner, is_time) for inner in value]
        return 2 * value if is_time else value

    return storage.parse(json.dumps(twice(json.loads(storage.to_json(run)))), Path("run.json"))


def _commands(run: RunFile, history: list[Entry]) -> list[str]:
    """The lines to paste into a shell."""
    found = [line.strip().strip("()") for line in not_at_hand(run.rows)[1:]]
    assert shlex.split(found[0])[-1] == next(row.image_url for row in run.rows if row.image_url)
    steps = [step for series in over_time(history) for step in series.steps()]
    for step in steps:
        assert shlex.split(step.comparison)[2:] == [f"results/runs/{each.run}" for each in (step.before, step.after)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_no_text_changes_the_structure_of_an_output(known: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = dict(_pages(PLAIN, tmp_path_factory.mktemp("plain"), known=known))
    assert len(plain) == 13
    for text in HOSTILE:
        for name, structure in _pages(text, tmp_path_factory.mktemp("hostile"), known=known):
            assert structure == plain[name], (name, text)
