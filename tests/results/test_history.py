"""The history: files that merge, series over versions and time, steps and noise."""

import random
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portbench.console import shown
from portbench.results.histories.page_blocks import filled
from portbench.results.histories.series import changes, over_time, over_versions, version_order
from portbench.results.histories.store import Entry, entries_of, keep, load
from portbench.results.histories.table import markdown
from portbench.results.model import Git, Sim
from portbench.results.storage import StorageError
from tests.results.rows import START, missing, row, run_of

TUNED = {"profile": "tuned", "board": "W5500_EVB_PICO"}
EXACT = Sim(host_s=1.0)


def measured(runtime: str, *total_us: float, days: int = 0, version: str = "1.0", **changes_: object) -> list[Entry]:
    """The record of a run on some day."""
    rows = [
        row(each, number, runtime=runtime, version=version, **(TUNED | changes_))
        for number, each in enumerate(total_us)
    ]
    run = run_of(*rows, git=Git(revision="a" * 40, dirty=False))
    started = START + timedelta(days=days)
    return entries_of(run.model_copy(update={"started_utc": started}), f"{started:%Y-%m-%dT%H%M%SZ}.json")


def test_a_run_is_kept_by_runtime_version_and_revision(tmp_path: Path) -> None:
    rows = [row(2000 + each, each % 2, runtime=f"some-{each // 2}", version="1.0") for each in range(4)]
    run = run_of(*rows, missing("other", "skipped", "no image"), git=Git(revision="b" * 40, dirty=False))
    written = keep(run, "2026-01-02T030405Z.json", tmp_path)
    name = "20260102T030405Z-bbbbbbbbbbbb.jsonl"
    assert written == [tmp_path / "some-0" / "1.0" / name, tmp_path / "some-1" / "1.0" / name]
    assert keep(run, "2026-01-02T030405Z.json", tmp_path) == []  # no later run changes an entry
    entries = load(tmp_path)
    assert entries == entries_of(run, "2026-01-02T030405Z.json")
    assert [(each.runtime, each.values) for each in entries] == [
        ("some-0", [2000.0, 4e6 / 2001]),
        ("some-1", [4e6 / 2002, 4e6 / 2003]),
    ]


def test_branches_that_measured_merge_without_conflict(tmp_path: Path) -> None:
    run = run_of(row(2000))
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, days in ((ours, 1), (theirs, 2), (theirs, 3)):
        started = START + timedelta(days=days)
        keep(run.model_copy(update={"started_utc": started}), f"{started:%Y-%m-%dT%H%M%SZ}.json", folder)
    assert not {path.relative_to(ours) for path in ours.rglob("*.jsonl")} & {
        path.relative_to(theirs) for path in theirs.rglob("*.jsonl")
    }
    shutil.copytree(theirs, ours, dirs_exist_ok=True)
    assert [each.measured_utc[:10] for each in load(ours)] == ["2026-01-03", "2026-01-04", "2026-01-05"]


def test_an_entry_that_an_earlier_history_calls_bridged_is_a_hosted_one(tmp_path: Path) -> None:
    (path,) = keep(run_of(row(2000)), "2026-01-02T030405Z.json", tmp_path)
    path.write_text(path.read_text().replace('"conditions": {}', '"conditions": {"bridged": true}'))
    assert [(each.where, each.conditions, each.is_exact) for each in load(tmp_path)] == [("hosted", {}, False)]


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(min_size=1, max_size=20))
@example("x", "1", "/../../../x")
def test_no_name_leads_out_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, runtime: str, version: str, revision: str
) -> None:
    folder = tmp_path_factory.mktemp("history")
    run = run_of(row(2000, runtime=runtime, version=version), git={"revision": revision, "dirty": False})
    (path,) = keep(run, "2026-01-02T030405Z.json", folder)
    assert len(path.relative_to(folder).parts) == 3 and ".." not in path.parts
    assert [(each.runtime, each.version) for each in load(folder)] == [(shown(runtime), shown(version))]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("{", "Invalid JSON"),
        ('"better": "higher"', "better"),
        ('"values": [2000.0]', "values"),
        ("\xff", "UTF-8"),
        ("", "directory"),
    ],
)
def test_a_damaged_line_is_told_with_its_place(tmp_path: Path, damage: str, reason: str) -> None:
    (path,) = keep(run_of(row(2000)), "2026-01-02T030405Z.json", tmp_path)
    text = path.read_text()
    if damage == "{":
        path.write_text(text[:40])
    elif damage == "\xff":
        path.write_bytes(b"\xff\n")
    elif not damage:
        path.unlink()
        path.mkdir()
    else:
        path.write_text(text + text.replace(damage, damage.partition(":")[0] + ": []"))
    place = r"line 1: " if damage == "{" else "cannot" if damage in ("\xff", "") else r"line 2: "
    with pytest.raises(StorageError, match=rf"\.jsonl: {place}.*(restore|remove)") as caught:
        load(tmp_path)
    assert reason.lower() in str(caught.value).lower().replace("utf8", "utf-8") and "\n" not in str(caught.value)


def test_versions_are_in_the_order_of_their_numbers() -> None:
    (base,) = measured("some", 2000)
    order = ["1.9.0", "1.20.0-preview.3.gabc", "1.20.0", "1.20.0-370-g7bfc", "1.21.0-beta.2", "1.21.0", "2"]
    mixed = random.Random(1).sample(order, len(order))
    assert [
        each.version for each in sorted((replace(base, version=each) for each in mixed), key=version_order)
    ] == order


def test_over_versions_is_the_newest_of_each_firmware_and_profile() -> None:
    entries = [
        *measured("mp-1.26.0", 2000, version="1.26.0", days=1),
        *measured("mp-1.28.0", 4000, version="1.28.0", days=2),
        *measured("mp-1.28.0", 2500, version="1.28.0", days=3),
        *measured("mp-1.28.0", 2500, version="1.28.0", profile="slow"),
        *measured("other-1.0", 1),
    ]
    (series,) = over_versions(entries)
    assert (series.name, [each.value for each in series.entries]) == ("mp", [2000.0, 1600.0])
    (step,) = series.steps()
    assert (step.before.version, step.after.version, step.times) == ("1.26.0", "1.28.0", pytest.approx(0.8))
    assert step.comparison == "portbench compare mp-1.26.0 mp-1.28.0 --workload ping_pong --profile tuned"
    files = [replace(entry, build=f"{entry.runtime}.uf2") for entry in entries]
    assert over_versions(files)[0].steps()[0].comparison.startswith("portbench compare mp-1.26.0.uf2 mp-1.28.0.uf2 ")


@pytest.mark.parametrize(("share", "found"), [(0.0, 0), (0.0005, 0), (0.002, 1), (0.03, 1)])
def test_of_exact_rows_small_steps_count(share: float, found: int) -> None:
    one, other = (measured("f", 2000 * factor, days=day, sim=EXACT)[0] for day, factor in enumerate((1, 1 + share)))
    (series,) = over_time([one, other])
    assert len(series.steps()) == found


def test_of_rows_that_vary_chance_is_no_step() -> None:
    """200 histories without a step: at most 5 % of them seem to have one. And a step of four deviations is found."""
    draw = random.Random(7)
    false = missed = 0
    days = [measured("f", 2000, days=day, where="silicon")[0] for day in range(24)]
    for number in range(200):
        entries = [replace(each, values=[500 * draw.gauss(1, 0.02) for _ in range(3)]) for each in days]
        false += bool(over_time(entries)[0].steps())
        if number % 4:
            continue
        stepped = [replace(each, values=[value * 0.95 for value in each.values]) for each in entries[12:]]
        steps = over_time([*entries[:12], *stepped])[0].steps()
        missed += not any(step.before in entries[9:14] for step in steps)
    assert false <= 10 and missed <= 2


def test_a_page_has_the_newest_of_a_long_history() -> None:
    entries = [measured("f", 2000 + day, days=day, where="silicon")[0] for day in range(25)]
    (series,) = over_time(entries)
    lines = markdown([series], {0: []}).splitlines()
    assert lines[0] == f"History of {series.title}, over time:"
    times = [line.split("|")[1].strip() for line in lines if line.startswith("| 2026")]
    assert times == [entry.measured_utc for entry in entries[5:]]


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=5),
    st.randoms(use_true_random=False),
)
def test_levels_that_are_far_apart_are_found_where_they_change(lengths: list[int], chance: random.Random) -> None:
    level, values, borders = 0.0, [], []
    for length in lengths:
        values += [level + chance.uniform(-1e-4, 1e-4) for _ in range(length)]
        borders.append(len(values))
        level += chance.choice((-1, 1)) * chance.uniform(0.2, 2.0)
    assert changes(values, 0.0005) == borders[:-1]


def test_a_page_has_the_newest_figures_of_the_runtimes_that_it_names() -> None:
    page = "# A\n\n<!-- figures: mp-1.26.0 mp-1.28.0 -->\nold\n<!-- /figures -->\n\nb\n"
    entries = [
        *measured("mp-1.28.0", 4000, version="1.28.0"),
        *measured("mp-1.26.0", 8000, version="1.26.0", days=1),
        *measured("mp-1.26.0", 2000, version="1.26.0", days=2),
        *measured("mp-1.26.0", 4e6, version="1.26.0", profile=None),
        *measured("other", 1),
    ]
    text = filled(page, entries)
    assert filled(text, entries) == text and text.startswith("# A\n") and text.endswith("<!-- /figures -->\n\nb\n")
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| Ping-pong")]
    assert [[cell.strip() for cell in line[3:6]] for line in lines] == [
        ["1.26.0", "all", "1"],
        ["1.26.0", "tuned", "2000"],
        ["1.28.0", "tuned", "1000"],
    ]
    assert "Measured 2026-01-02 and 2026-01-04 (emulated, W5500_EVB_PICO)." in text
    assert "Nothing of it has been measured here." in filled(page.replace("mp-1.26.0", "a_b+c.d"), [])
