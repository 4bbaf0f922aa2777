"""All outputs of small runs, to the letter. `outputs/` has each as a person last read it.

After a wanted change the test writes them anew with PORTBENCH_OUTPUTS=1; then read the difference.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from rich.console import Console

from portbench.results import boards_beside, publish
from portbench.results.compare import compare
from portbench.results.compare_comment import comment, mark
from portbench.results.compare_table import as_data, markdown
from portbench.results.csv_export import rows_csv, samples_csv
from portbench.results.explain import compared, explained
from portbench.results.histories import table as history_table
from portbench.results.histories.store import entries_of
from portbench.results.model import Layouts, Published, Row, RunFile, Sim
from portbench.results.page import parts
from portbench.results.page.pinout import BoardPicture, HeaderPin
from portbench.results.shipped import without_samples
from portbench.results.storage import to_json
from portbench.results.table import terminal
from tests.results.explain import synthetic, test_rules
from tests.results.page_run import FULL, HISTORY
from tests.results.rows import START, other_row, row, run_of

pytest.importorskip("scipy")
FOLDER: Final = Path(__file__).with_name("outputs")
FAMILY: Final = {"runtime": "wiznet-9", "family": "wiznet", "profile": "as-published", "board": "W5500_EVB_PICO"}
HOSTED: Final[dict[str, Any]] = {"runtime": "unix", "where": "hosted", "image_file": None, "build": "pip"}
CONDITIONS: Final = {"spi_hz_asked": 2_000_000, "spi_hz_actual": 1_953_125, "intn": False, "address_mode": "static"}


def jittery(total_us: float, index: int, **changes: Any) -> Row:
    sim = Sim(seed=3, host_s=0.5, room={"phy_link_delay_us": 1_500_000 + index, "turnaround_us": 200 - index})
    return row(total_us, index, sim=sim, **changes)


def attributed(pc_us: float, code_us: float, **changes: Any) -> Row:
    names = ("instructions", "spi_bytes", "cache_misses", "sleeps")
    counts = {"spi_frames": 9, **{name: code_us * factor for factor, name in enumerate(names, 1)}}
    told = synthetic.row(
        {"spi_bits": 100, "code_run": code_us, "pc": pc_us}, counts=counts, pages={"0x10000300": int(code_us)}
    )
    figures = {"rate": 1e6 / (100 + code_us + pc_us)}
    return told.model_copy(update={"sim": Sim(), "figures": figures, **changes})


def silicon(runtime: str, *total_us: float) -> list[Row]:
    return [row(each, number, runtime=runtime, where="silicon") for number, each in enumerate(total_us)]


def in_layouts(linked: float, *drawn: float) -> list[Row]:
    """Make rows of a figure of which less is better, and of one of which more is; another has no logarithm."""

    def told(name: str) -> Layouts:
        figures = [{name: each, "hops": 0} for each in (linked, 10, *drawn)]
        return Layouts(linked=figures[0], free=figures[1], drawn=figures[2:])

    more = row(4e6 / linked, runtime="more", sim={}, layouts=told("messages_per_s"))
    return [other_row(linked, sim={}, layouts=told("lag_us")), more]


EVERYTHING: Final = FULL.model_copy(
    update={
        "name": "nightly",
        "rows": [
            *FULL.rows,
            *(jittery(4000 + 300 * index, index, runtime="wild", conditions=CONDITIONS) for index in range(3)),
            row(
                3000,
                runtime="=1+1",
                board="RPI_PICO",
                version="@2",
                note='+x, "y"\nz',
                conditions={"spi_hz_asked": 4_000_000},
            ),
            row(3500, published=Published(figure="total_us", values=[2000, 1000, 4000], stated=2100, source="a")),
            row(40, conditions={"turnaround_us": 35.2}, lost=0.07, **HOSTED),
            row(70, trips=[1, 2, 3, 90], conditions={"turnaround_us": 30}, **HOSTED),
            *(row(5e3, n, runtime="real", where="hosted", conditions={"turnaround_us": 30 + n}) for n in range(2)),
            row(1000, runtime="foreign", timed_by="pc", family="foreign"),
            row(6000, where="silicon", **FAMILY),
        ],
    }
)
BEFORE: Final = run_of(
    attributed(60, 40, runtime="sa|me"),
    *(jittery(4000 + 900 * index, index, runtime="jittery") for index in range(3)),
    *silicon("enough", 100, 101, 102, 103),
    *silicon("few", 100, 101),
    *silicon("alike", 100, 101, 102, 103),
    *in_layouts(20, 20, 22, 24),
    row(1000, runtime="gone"),
)
AFTER: Final = run_of(
    attributed(58, 51, runtime="sa|me", profile=None),
    *(jittery((4000 + 900 * index) * 0.97, index, runtime="jittery") for index in range(3)),
    *silicon("enough", 104, 105.5, 106, 107),
    *silicon("few", 110, 111),
    *silicon("alike", 100.5, 101, 102, 102.5),
    *in_layouts(25, 21, 23.1, 25.2),
)


PICTURE: Final = BoardPicture(
    "A board",
    ("chip", "radio"),
    (HeaderPin(1, "GP0", "UART0 TX"), HeaderPin(2, "GP1")),
    (HeaderPin(40, "VBUS"), HeaderPin(39, "VSYS", "sensor", by_hand=True)),
    ("GP24 held at 3.3 V",),
)


def shortened(value: Any) -> Any:
    """Numbers with nine digits: the last ones are a library's."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def as_json(value: Any) -> str:
    return json.dumps(shortened(value), indent=1) + "\n"


def on_terminal(run: RunFile, width: int) -> str:
    output = StringIO()
    Console(file=output, width=width).print(terminal(run, width), crop=False)
    return output.getvalue()


def on_page(run: RunFile) -> str:
    """HTML without its style, its script, and what it carries. A drawing is as Vega-Lite is asked for it."""
    text = publish.html(run, HISTORY, "https://example.org/page.png", [PICTURE])
    return re.sub(r"(<(style|script)[^>]*>).*?(?=</\2>)|(?<=base64,)[^\"]*", r"\1", text, flags=re.DOTALL)


def into_pages(run: RunFile) -> str:
    """The table, and its picture, in pages of another author."""
    with TemporaryDirectory() as folder:
        pages = [Path(folder, "docs", name) for name in ("a.md", "b.md")]
        pages[0].parent.mkdir()
        for page, chart in zip(pages, (None, Path(folder, "my images", "a.svg")), strict=True):
            page.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n", encoding="utf-8")
            for _ in range(2):
                publish.into(run, page, chart)
        return "".join(page.read_text(encoding="utf-8") for page in pages)


def history() -> tuple[Any, Any]:
    later = EVERYTHING.model_copy(update={"started_utc": START + timedelta(days=30)})
    series = history_table.histories([*HISTORY, *entries_of(later, "2026-02-01T030405Z.json")])
    return series, {number: each.steps() for number, each in enumerate(series)}


def explanations() -> dict[str, list[Any]]:
    """All that the rules say of the rows that each is tested with."""
    rows = {name: [fires, *test_rules.SILENT[name]] for name, (fires, _) in test_rules.FIRES.items()}
    told = {name: [list(map(asdict, explained(each))) for each in of] for name, of in rows.items()}
    both = {name: [case[:2], *test_rules.SILENT_BESIDE[name]] for name, case in test_rules.BESIDE.items()}
    return told | {name: [list(map(asdict, compared(*each))) for each in of] for name, of in both.items()}


OUTPUTS: Final[dict[str, Callable[[], str]]] = {
    "page.txt": lambda: publish.page(EVERYTHING),
    "page.html": lambda: on_page(EVERYTHING),
    "into.txt": lambda: into_pages(EVERYTHING),
    "beside.txt": lambda: boards_beside.markdown(EVERYTHING, AFTER) + as_json(boards_beside.as_data(BEFORE, AFTER)),
    "figures.json": lambda: to_json(without_samples(EVERYTHING)),
    "chart.json": lambda: publish.chart(EVERYTHING),
    "terminal.txt": lambda: on_terminal(EVERYTHING, 110),
    "rows.csv": lambda: rows_csv(EVERYTHING.rows),
    "samples.csv": lambda: samples_csv(EVERYTHING.rows),
    "comparison.txt": lambda: markdown(compare(BEFORE, AFTER), 0.02, times=True),
    "comment.txt": lambda: comment(compare(BEFORE, AFTER), 0.02, mark("speed", "pr.uf2")),
    "comparison.json": lambda: as_json(as_data(compare(BEFORE, AFTER), 0.02)),
    "explained.json": lambda: as_json(explanations()),
    "history.txt": lambda: history_table.markdown(*history()),
    "history.json": lambda: as_json(history_table.as_data(*history())),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_as_it_was_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "picture", lambda draw: as_json(draw(640)))
    monkeypatch.setattr(parts, "drawings", lambda draw: (json.dumps(shortened(draw(640))).replace("}, {", "},\n{"), ""))
    text = OUTPUTS[name]()
    if os.environ.get("PORTBENCH_OUTPUTS"):
        (FOLDER / name).write_text(text, encoding="utf-8", newline="")
    assert text == (FOLDER / name).read_bytes().decode()
