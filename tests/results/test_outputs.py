"""All outputs of small runs, to the letter. `outputs/` has each as a person last read it.

After a wanted change the test writes them anew with PORTBENCH_OUTPUTS=1; then read the difference.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import pytest
from rich.console import Console

from portbench import results
from portbench.results import boards_beside, chance, publish
from portbench.results.answer import flash
from portbench.results.attribution import CAUSES, Attribution, moment_title
from portbench.results.compare import compare
from portbench.results.compare_comment import comment, mark
from portbench.results.compare_table import as_data, markdown
from portbench.results.csv_export import rows_csv, samples_csv
from portbench.results.explain import Facts, compared, explained
from portbench.results.exports import exported, formats
from portbench.results.histories import store
from portbench.results.histories import table as history_table
from portbench.results.histories.page_blocks import filled
from portbench.results.histories.series import Series, SeriesAxis, over_commits
from portbench.results.histories.store import entries_of
from portbench.results.model import Git, Layouts, Published, Row, RunFile, Sim
from portbench.results.page import drawing, parts
from portbench.results.page.history import _axis, history_part
from portbench.results.page.pinout import BoardPicture, HeaderPin
from portbench.results.shipped import without_samples
from portbench.results.stats import group_rows
from portbench.results.storage import StorageError, parse, to_json
from portbench.results.table import terminal
from portbench.where import Where
from tests.declared import assert_as_read
from tests.results.explain import synthetic, test_rules
from tests.results.page_run import FULL, HISTORY
from tests.results.rows import START, missing, other_row, row, run_of
from tests.results.test_run_perfbench import scripts
from tests.walk import Walk, shortened

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


def as_json(value: Any) -> str:
    return json.dumps(shortened(value), indent=1) + "\n"


SVG: Final = """<svg class="marks" viewBox="0 0 640 9" xmlns:xlink="x"><g transform="translate(0.125,9.999)">
<path d="M0,0h0v0h0Z"/><path d="" display="none"/><g transform="translate(0,0)"><g></g></g><path d="M1.2345,2"/>
<rect aria-label="a: 1.239 us" role="graphics-symbol" aria-roledescription="rect mark" y="1.239" opacity="1"/>
<g aria-label="x" role="graphics-symbol" aria-roledescription="axis" font="system-ui, serif" fill="var(--ink)"/>
<g fill="var(--series-1)" opacity="0.55"/></g></svg>"""


def rendered() -> str:
    """All that Vega-Lite is asked for, and the rest of its SVG."""
    asked = list[Any]()
    vega: Any = ModuleType("vl_convert")
    vega.vegalite_to_svg = lambda asks, **more: asked.append([asks, more.pop("config") == drawing._CONFIG, more]) or SVG
    vega.svg_to_png = lambda svg, **more: asked.append([svg, more]) or b"PNG"
    with patch.dict(sys.modules, vl_convert=vega):
        draw: drawing.Draw = lambda width: {"width": width, "padding": 1}  # noqa: E731
        told = [*drawing.drawings(draw), drawing.picture(draw), drawing.preview(draw).decode()]
    return "\n".join(told) + as_json(asked)


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


def history(run: RunFile) -> tuple[Any, Any]:
    later = run.model_copy(update={"started_utc": START + timedelta(days=30)})
    series = history_table.histories([*HISTORY, *entries_of(later, "2026-02-01T030405Z.json")])
    return series, {number: each.steps() for number, each in enumerate(series)}


def exports() -> dict[str, Any]:
    """A figure of each kind in the formats of other tools."""
    scores = (scripts(chaos=[200_000, 250_000, 220_000], fft=[500_000 + each] * 3) for each in (0, 9000))
    rows = [EVERYTHING.rows[0], other_row(30), row(1000, timed_by="pc"), *scores]
    run = run_of(*rows, git=Git(revision="0123456789abcdef" * 2, dirty=True))
    return {name: {path: json.loads(text) for path, text in exported(run, name).items()} for name in formats()}


def explanations() -> dict[str, list[Any]]:
    """All that the rules say of the rows that each is tested with."""
    rows = {name: [fires, *test_rules.SILENT[name]] for name, fires in test_rules.FIRES.items()}
    told = {name: [list(map(asdict, explained(each))) for each in of] for name, of in rows.items()}
    both = {name: [case, *test_rules.SILENT_BESIDE[name]] for name, case in test_rules.BESIDE.items()}
    return told | {name: [list(map(asdict, compared(*each))) for each in of] for name, of in both.items()}


OUTPUTS: Final[dict[str, Callable[[RunFile, RunFile, RunFile], str]]] = {
    "page.txt": lambda run, *_: publish.page(run),
    "page.html": lambda run, *_: on_page(run),
    "into.txt": lambda run, *_: into_pages(run),
    "beside.txt": lambda run, a, b: boards_beside.markdown(run, b) + as_json(boards_beside.as_data(a, b)),
    "figures.json": lambda run, *_: to_json(without_samples(run)),
    "chart.json": lambda run, *_: publish.chart(run),
    "rendered.txt": lambda *_: rendered(),
    "exports.json": lambda *_: as_json(exports()),
    "terminal.txt": lambda run, *_: on_terminal(run, 110) + on_terminal(run, 60),
    "rows.csv": lambda run, *_: rows_csv(run.rows),
    "samples.csv": lambda run, *_: samples_csv(run.rows),
    "comparison.txt": lambda run, a, b: markdown(compare(a, b), 0.02, times=True),
    "comment.txt": lambda run, a, b: comment(compare(a, b), 0.02, mark("speed", "pr.uf2")),
    "comparison.json": lambda run, a, b: as_json(as_data(compare(a, b), 0.02)),
    "explained.json": lambda *_: as_json(explanations()),
    "history.txt": lambda run, *_: history_table.markdown(*history(run)),
    "history.json": lambda run, *_: as_json(history_table.as_data(*history(run))),
}


@pytest.fixture(autouse=True)
def drawings_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "picture", lambda draw: as_json(draw(640)))
    monkeypatch.setattr(parts, "drawings", lambda draw: (json.dumps(shortened(draw(640))).replace("}, {", "},\n{"), ""))


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_as_it_was_read(name: str) -> None:
    text = OUTPUTS[name](EVERYTHING, BEFORE, AFTER)
    if os.environ.get("PORTBENCH_OUTPUTS"):
        (FOLDER / name).write_text(text, encoding="utf-8", newline="")
    assert text == (FOLDER / name).read_bytes().decode()


def firmware(walk: Walk) -> dict[str, Any]:
    """Draw what the runs of a firmware have in common."""
    pick = walk.pick
    runtime, version = pick(
        (("micropython-1.9", "1.9"), ("micropython-1.26.0", "1.26.0"), ("native", ""), ("own", "2"))
    )
    spi_hz, turnaround_us = pick((None, 2_000_000, 20_000_000)), pick((None, 200.0, 35.5))
    asked = {"spi_hz_asked": spi_hz, "spi_hz_actual": spi_hz and spi_hz - 7, "address_mode": pick((None, "static"))}
    offers: dict[str, Any] = {"released": pick(("2023-04-05", "2025-08-09")), "maintained": pick((True, False))}
    offers |= {"tcp_sockets": pick((None, 4, 8)), "tls": pick((None, True, False)), "python": pick((None, "Python 3"))}
    source = pick(("https://micropython.org/download", "https://example.org"))
    published = {"values": pick(([3.9], [2000.0, 1000.0])), "figure": pick((None, "total_us")), "source": "someone"}
    paired = {"workload": "two_boards", "settings": {"partner": pick("abc"), "messages": pick((4, 9))}}
    return pick(({}, {}, paired, {"workload": "udp_service"})) | {
        "runtime": runtime,
        "version": version,
        "family": runtime.partition("-")[0],
        "build": pick(("some.uf2", "other/some.uf2", f"{runtime}.uf2")),
        "board": pick((None, "RPI_PICO", "W5500_EVB_PICO")),
        "profile": pick((None, "tuned", "as-published")),
        "where": pick(("emulated", "emulated", "silicon", "hosted")),
        "timed_by": pick(("board", "board", "board", "pc")),
        "conditions": asked | {"turnaround_us": turnaround_us, "intn": pick((None, True, False))},
        "libraries": pick(({}, {}, {"own": "1.0 ab"})),
        "line": pick((None, "network.WIZNET5K()", "nic = other()")),
        "note": pick((None, None, "a note")),
        "offers": pick((None, offers | {"sources": [source]})),
        "published": pick((None, None, published)),
    }


def random_run(walk: Walk, firmwares: list[dict[str, Any]]) -> RunFile:
    """Draw a run of some of `firmwares`, with some rows of each."""
    rows, pick = list[Row](), walk.pick
    for told in firmwares:
        total_us, seed = pick((1000, 2500.5, 99_999, 3e7)), pick((None, None, 3))
        told = told | {"image_sha256": pick((None, "a" * 64, "b" * 64)), "build": pick((told["build"], "new/some.uf2"))}
        told["libraries"] = pick((told["libraries"], {"own": "1.1 cd", "other": "3"}))
        for index in range(pick((0, 1, 1, 3, 4))):
            sim = {"seed": seed, "room": {"turnaround_us": 200 - index} if seed else {}, "counters": {"spi_bytes": 7}}
            changes = told | {"lost": pick((None, None, 0.06)), "sim": sim if told["where"] == "emulated" else None}
            if changes["sim"] and pick((True, False)):
                causes = {pick(tuple(CAUSES)): pick((1, 20, 300, 4000)) for _ in range(pick((1, 3, 7)))}
                pages = {pick(("0x10000300", "0x10042000", "0x10050000")): pick((3, 90)) for _ in range(2)}
                timed = synthetic.row(causes, counts={pick(synthetic.COUNTS): 9}, pages=pages).attribution
                changes["attribution"] = pick((timed, timed, timed, Attribution()))
                figures = [{"messages_per_s": pick((90.0, 100.0)), "lag_us": pick((0.0, 7.0, 8.0))} for _ in range(5)]
                changes["layouts"] = Layouts(linked=figures[0], free=figures[1], drawn=figures[2:])
            near_us = total_us * pick((1, 1, 1.001, 0.97, 1.06))
            if pick((True, *(False,) * 6)):
                url = pick((None, "https://example.org/a b.uf2"))
                ended = {name: changes[name] for name in ("runtime", "build", "family", "where", "profile", "board")}
                reason = pick(("no image", "it broke"))
                rows.append(missing(status=pick(("skipped", "failed")), reason=reason, image_url=url, **ended))
            elif pick((True, False, False)) and not told["published"]:
                rows.append(other_row(near_us / 100, run_index=index, **changes))
            else:
                trips = pick((None, [near_us / 4, near_us / 2, near_us / 8, near_us / 8], [near_us / 9] * 9))
                rows.append(row(near_us, index, trips, **changes))
    finished = pick((None, START + timedelta(hours=7)))
    return run_of(*rows, finished_utc=finished, tools=pick(({}, {"rich": "15"})), name=pick((None, "nightly")))


def test_outputs_of_random_runs_are_as_recorded() -> None:
    walk = Walk(7)
    for _ in range(8):
        of = [firmware(walk) for _ in range(6)]
        runs = [random_run(walk, of) for _ in range(3)]
        for name in sorted(OUTPUTS.keys() - {"explained.json", "into.txt", "rendered.txt", "exports.json"}):
            walk.note(name, OUTPUTS[name](*runs))
        walk.note([history_table.lines(each, []) for each in history(runs[0])[0]])
        measured = runs[0].model_copy(update={"git": Git(revision="0123456789abcdef", dirty=True)})
        told = [exported(measured, name) for name in formats()]
        walk.note([(path, shortened(json.loads(text))) for files in told for path, text in files.items()])
        for groups in (
            group_rows(runs[0].rows, workload, where) for workload in ("ping_pong", "far_away") for where in Where
        ):
            walk.note(flash(groups), [(shortened(asdict(each.value)), each.unstable, each.firmware) for each in groups])
    assert walk.checksum == "d54317d9a96124de"


def test_histories_of_random_runs_are_as_recorded(tmp_path: Path) -> None:
    """Kept in files, over versions, time and commits, in pages, and as drawings."""
    walk = Walk(10)
    for number in range(40):
        of, folder, at = [firmware(walk) for _ in range(4)], tmp_path / str(number), START
        for run in range(walk.pick((2, 3, 9))):
            at += timedelta(seconds=walk.pick((0, 1, 7, 60, 3599, 86_400, 3e6)))
            git = walk.pick((None, Git(revision="0123456789abcdef", dirty=False)))
            told = random_run(walk, of).model_copy(update={"started_utc": at, "git": git})
            kept = store.keep(told, f"2026-01-02T030405Z{walk.pick(('', '-2'))}.jsonl", folder)
            walk.note([path.relative_to(folder).as_posix() for path in kept])
            walk.note(shortened(list(map(asdict, store.entries_of_commit(told, f"title {run}", "image.uf2")))))
        entries = store.load(folder)
        series = [*history_table.histories(entries), *over_commits(entries)]
        steps = {number: each.steps() for number, each in enumerate(series)}
        walk.note(as_json(history_table.as_data(series, steps)), history_table.markdown(series, steps))
        walk.note(history_part(entries))
        marks = "<!-- figures: micropython-1.9 micropython-1.26.0 own -->\n<!-- /figures -->"
        walk.note(filled(f"{marks}\nbetween\n{marks.replace('own', 'native')}", entries))
    assert walk.checksum == "c1edd7809600d6cd"


def test_axes_of_random_histories_are_as_recorded() -> None:
    """Versions in their order, and times of seconds to decades to scale."""
    walk = Walk(12)
    (entry,) = entries_of(run_of(row(2000)), "0")
    spans_s = (0, 6, 50, 61, 200, 360, 361, 500, 4000, 40_000, 250_000, 300_000, 1e6, 1e7, 1e8, 5e8)
    for _ in range(400):
        axis, span_s = walk.pick((SeriesAxis.TIME, SeriesAxis.VERSION)), walk.pick(spans_s)
        entries = []
        for _ in range(6):
            at = START + timedelta(seconds=span_s * walk.pick((0, 0.3, 1)))
            told = {
                "version": walk.pick(("1.9", "1.10", "1.20-rc1", "1.20", "2")),
                "measured_utc": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            }
            entries.append(replace(entry, **told))
        walk.note(_axis([Series(axis, "f", tuple(entries[:3])), Series(axis, "g", tuple(entries[3:]))]))
    assert walk.checksum == "13fde05e0d37dacb"


def test_chance_of_random_samples_is_as_recorded() -> None:
    walk = Walk(11)
    for _ in range(150):
        ours, theirs = ([walk.pick((1.0, 1.25, 1.5, 3.0)) for _ in range(walk.pick((1, 2, 3, 5)))] for _ in range(2))
        found = [*chance.mean_interval(ours), *chance.shift_of_samples(ours, theirs)]
        walk.note([f"{each:.6g}" for each in found])
    assert walk.checksum == "5758c36532f7f14e"


def test_damaged_runs_are_refused_as_recorded() -> None:
    """Replace any part of a whole run file: the reason names it."""
    walk, refused = Walk(9), 0
    kinds: tuple[Any, ...] = (None, -1, 0, 1e9, "", "x", "a\nb", True, [], {}, [1.5], {"a": 1})
    text = to_json(EVERYTHING.model_copy(update={"rows": [*EVERYTHING.rows[::3], *BEFORE.rows[:1]]}))
    for _ in range(1500):
        at = document = json.loads(text)
        key = walk.pick(sorted(at))
        while at[key] and isinstance(at[key], dict | list) and walk.pick((True, True, True, False)):
            at = at[key]
            key = walk.pick(sorted(at) if isinstance(at, dict) else range(len(at)))
        at[key] = walk.pick(kinds)
        try:
            walk.note(to_json(parse(json.dumps(document), Path("a.json"))))
        except StorageError as error:
            refused += 1
            walk.note(str(error))
    assert 500 < refused < 1400
    assert walk.checksum == "0c4a755958f40534"


def test_explanations_of_random_rows_are_as_recorded() -> None:
    walk = Walk(7)
    walk.note(*map(moment_title, CAUSES))
    before = synthetic.row({"code_run": 1})
    for _ in range(400):
        told = synthetic.drawn(walk)
        walk.note(explained(told), compared(before, told))
        facts = Facts.of(told)
        assert facts is not None
        walk.note(facts.noun, facts.spans, facts.period_ps, facts.code_misses, facts.flash_share, facts.each_ps())
        before = told
    assert walk.checksum == "3193382bdaed2395"


def test_constants_and_defaults_are_as_they_were_read() -> None:
    assert_as_read(results, FOLDER / "declared.txt")
