"""`compare`, `run --baseline` and the gates, as a port maintainer uses them."""

import json
import re
import shutil
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from portbench.clients.own_libraries import read_library
from portbench.firmware import uf2
from portbench.install import with_extra
from portbench.results import storage
from portbench.results.compare import compare
from portbench.results.compare_table import library_caution
from portbench.results.model import RunFile
from portbench.runner.cli.comparing import print_comparison
from portbench.workloads import workload
from tests.ping_pong import NATIVE_IMAGE
from tests.results.rows import missing, row, run_of
from tests.runner.conftest import Invoke, Start
from tests.slowed import calls, slowed

W5500_WRITE = 0x1000_2ADC
"""A function of the native client that the ping-pong calls while nothing hides it: it runs between two messages."""
WAITS = 25
_FIRST_SLOW = re.compile(r"^first slow one: build-7\.uf2, \+(\d\.\d) %; build-6\.uf2 before it: 0$", re.MULTILINE)
QUICK = ("--where=emulated", "--messages=50", "--setting=turnaround_us=0", "--setting=seed=fixed")


def stored(folder: Path, name: str, run: RunFile) -> Path:
    path = folder / "results" / "runs" / f"{name}.jsonl"
    path.unlink(missing_ok=True)
    storage.RunWriter(run, folder / "results", path).close()
    return path


def exact(total_us: float, **changes: object) -> RunFile:
    return run_of(row(total_us, sim={}), **changes)


def test_runs_are_found_by_file_name_revision_and_as_the_latest(invoke: Invoke, tmp_path: Path) -> None:
    revision = {"revision": "abcdef0123456789", "dirty": False}
    file = stored(tmp_path, "2026-01-01T000000Z", exact(10_000, git=revision))
    stored(tmp_path, "2026-01-02T000000Z", exact(10_100, name="pr-1"))
    stored(tmp_path, "2026-01-03T000000Z", exact(10_300, name="pr-1"))
    (tmp_path / "results" / "latest.json").write_text(storage.to_json(exact(10_400)))
    for before, after, slower in ((file, "pr-1", 0.03), ("abcdef0", "latest", 0.04), ("pr-1", file, 1 / 1.03 - 1)):
        done = invoke("compare", before, after, "--json")
        assert done.exit_code == 0, done.output
        (told,) = json.loads(done.stdout)
        assert told["slower"] == pytest.approx(slower) and told["basis"] == "exact"
    done = invoke("compare", "latest", "pr-2")
    assert done.exit_code == 1 and done.stderr == (
        "portbench: pr-2: is not a run file, a name (portbench run --name pr-2) or a revision of a run in results/runs;"
        " measure it first\n"
    )


def test_a_comparison_is_whole_words_at_80_columns() -> None:
    before, after = (
        run_of(*(row(start + each, each, profile="as-published") for each in range(1, 7))) for start in (10_000, 10_400)
    )
    out = StringIO()
    print_comparison(compare(before, after), None, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80 and lines[-1] == "A wider terminal also shows: by, unit."
    assert {"as-published", "ping_pong", "slower", "interval"} <= set(out.getvalue().split())


def test_advice_on_a_library_is_whole_words_on_a_terminal() -> None:
    before = row(10_000)
    compared = compare(run_of(before), run_of(before.model_copy(update={"libraries": {"umqtt.simple": "1.5"}})))
    out = StringIO()
    print_comparison(compared, None, Console(file=out, width=80, force_terminal=True, color_system=None))
    assert str(library_caution(compared)).split() == out.getvalue().partition("\n\n")[2].split()
    assert max(map(len, out.getvalue().splitlines())) <= 80


def test_a_wider_terminal_never_folds_more() -> None:
    before, after = (
        run_of(*(row(start + each, each, profile=profile) for profile in ("tuned", "as-published") for each in (1, 2)))
        for start in (10_000, 10_400)
    )
    compared = compare(before, after)
    heights = []
    for width in range(64, 131):
        out = StringIO()
        print_comparison(compared, None, Console(file=out, width=width))
        lines = out.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        heights.append(len(lines))
    assert heights == sorted(heights, reverse=True)


@pytest.mark.parametrize(("limit", "status"), [("2%", 1), ("0.02", 1), ("4%", 0), ("3.1%", 0)])
def test_slower_than_allowed_is_status_1(limit: str, status: int, invoke: Invoke, tmp_path: Path) -> None:
    before, after = stored(tmp_path, "a", exact(10_000)), stored(tmp_path, "b", exact(10_300))
    done = invoke("compare", before, after, "--fail-if-slower", limit)
    assert done.exit_code == status and ("SLOWER" in done.stdout) is bool(status) and "+3.0 %" in done.stdout
    assert invoke("compare", after, before, "--fail-if-slower", limit).exit_code == 0
    pages = [tmp_path / "pages" / name for name in ("compared.md", "compared.json")]
    done = invoke("compare", before, after, *(f"--output={page}" for page in pages))
    assert done.exit_code == 0 and done.stdout.startswith("B beside A")
    assert pages[0].read_text().startswith("| row ")
    assert json.loads(pages[1].read_text())[0]["judged"] == pytest.approx(0.03)


def test_too_few_runs_to_tell_are_status_3(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silicon(*totals: float, **changes: object) -> RunFile:
        return run_of(*(row(total, n, where="silicon", **changes) for n, total in enumerate(totals)))

    before = stored(tmp_path, "a", silicon(100, 101, 102))
    few, far = silicon(101, 103, 106), silicon(448, 450, 452)
    other = [*few.rows, *silicon(448, 450, 452, board="B").rows]
    both = stored(tmp_path, "both", run_of(*silicon(100, 101, 102).rows, *silicon(100, 101, 102, board="B").rows))
    said = "portbench: rows with too few runs to tell: {} of {}; measure both with --runs 4\n"
    for old, new, status, told in (
        (before, few, 3, said.format(1, 1)),
        (before, far, 1, ""),
        (stored(tmp_path, "far", far), silicon(100, 101, 102), 0, ""),
        (both, run_of(*other), 1, ""),
        (both, run_of(*few.rows, *silicon(100, 101, 102, board="B").rows), 3, said.format(2, 2)),
    ):
        after = stored(tmp_path, "b", new)
        done = invoke("compare", old, after, "--fail-if-slower=2%")
        assert (done.exit_code, done.stderr) == (status, told), done.stdout
        assert invoke("compare", old, after).exit_code == 0
        done = invoke("compare", old, after, "--fail-if-slower=2%", "--json")
        told_of = json.loads(done.stdout)
        assert done.exit_code == status and any(each["too_few"] for each in told_of) is bool(told or len(new.rows) > 3)
        for own, wanted in ((0, status), (1, 1)):  # a row that failed is told first
            monkeypatch.setattr("portbench.runner.cli.verbs.run._measure", lambda *_, new=new, own=own: (new, own))
            done = invoke("run", "--runtime=portbench-native", f"--baseline={old}", "--fail-if-slower=2%")
            assert done.exit_code == wanted, done.output


def test_what_cannot_be_compared_is_one_line(invoke: Invoke, tmp_path: Path) -> None:
    before = stored(tmp_path, "a", exact(10_000))
    after = stored(tmp_path, "b", run_of(missing("x", "skipped", "no image")))
    done = invoke("compare", before, after)
    assert done.exit_code == 1 and "have no row in common that was measured" in done.stderr
    done = invoke("compare", before)
    assert done.exit_code == 2 and "name a second run or image" in done.stderr
    for limit in ("much", "-1%", "2000%"):
        done = invoke("compare", before, before, "--fail-if-slower", limit)
        assert done.exit_code == 2 and "is not a share; write it as 2% or 0.02" in done.stderr
    done = invoke("run", "--fail-if-slower=2%", "--dry-run")
    assert done.exit_code == 2 and "name a run with --baseline" in done.stderr


def test_a_page_is_not_replaced_by_a_lesser_run(invoke: Invoke, tmp_path: Path) -> None:
    full = stored(tmp_path, "full", run_of(row(100), row(100, runtime="other")))
    lesser = stored(tmp_path, "lesser", run_of(row(100), missing("other", "skipped", "no image")))
    assert invoke("show", "publish", full).exit_code == 0
    page = (tmp_path / "docs" / "results.md").read_text()
    done = invoke("show", "publish", lesser)
    assert done.exit_code == 1 and done.stderr.count("\n") == 1 and "has ping_pong emulated other, which" in done.stderr
    assert (tmp_path / "docs" / "results.md").read_text() == page
    assert invoke("show", "publish", full).exit_code == 0
    assert invoke("show", "publish", lesser, "--force").exit_code == 0
    assert (tmp_path / "docs" / "results.md").read_text() != page


@pytest.mark.slow
def test_rows_that_are_required_must_be_there(start: Start, empty: Path) -> None:
    rows = ("--where=emulated", "--runtime=micropython-1.20.0", "--profile=tuned", "--runs=1")
    done = start("run", *rows, "--require=all")
    assert done.returncode == 1 and "is required, and was skipped" in done.stderr
    done = start("run", *rows, "--require=micropython-1.26.0")
    assert done.returncode == 2 and "--require: 'micropython-1.26.0' is measured by no row" in done.stderr


@pytest.mark.engine
@pytest.mark.slow
def test_one_slow_function_is_found_by_compare_and_among_ten(start: Start, empty: Path, tmp_path: Path) -> None:
    good = workload("ping_pong").folder / "native.uf2"
    if W5500_WRITE not in calls(uf2.read(good)).values():
        pytest.fail("the native client was changed: look up w5500_write in native.map, plus 0x10000168 - 0x20000000")
    images = tmp_path / "builds"
    images.mkdir()
    for number in range(1, 11):
        slowed(good, images / f"build-{number}.uf2", W5500_WRITE, WAITS if number >= 7 else 1)
    first, last = images / "build-1.uf2", images / "build-10.uf2"
    done = start("compare", first, last, *QUICK, "--fail-if-slower=2%", "--attribute", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    (told,) = json.loads(done.stdout)
    assert 0.02 < told["slower"] < 0.04 and told["basis"] == "exact" and told["too_slow"]
    more_us = {each["cause"]: each["us"][1] - each["us"][0] for each in told["why"]["causes"]}
    assert max(more_us, key=lambda cause: more_us[cause]) == "driver between SPI frames: execution"
    done = start("compare", first, images / "build-2.uf2", *QUICK, "--fail-if-slower=0%")
    assert done.returncode == 0 and "the same" in done.stdout, done.stdout + done.stderr
    done = start("bisect", images, *QUICK, "--layouts=2")
    assert done.returncode == 0 and (slow := _FIRST_SLOW.search(done.stdout)), done.stdout + done.stderr
    assert 2 < float(slow[1]) < 4
    assert "driver between SPI frames: execution" in done.stdout and "% is code" in done.stdout


def test_firmware_is_named_as_for_run(monkeypatch: pytest.MonkeyPatch, invoke: Invoke, tmp_path: Path) -> None:
    """A release by its id; and what cannot be found ends the command before anything is measured."""
    before = stored(tmp_path, "a", run_of(row(10_000, sim={}, board="W5500_EVB_PICO")))
    asked: list[list[str]] = []

    def measure(images: list[str], *_: object) -> list[object]:
        asked.append(images)
        return [run_of(row(10_300, sim={}, board="W5500_EVB_PICO")) for _ in images]

    monkeypatch.setattr("portbench.runner.cli.comparing.measure_images", measure)
    monkeypatch.setenv("PORTBENCH_OFFLINE", "1")
    for name, image in (("micropython@1.26", "micropython-1.26.1"), ("micropython-1.28.0", "micropython-1.28.0")):
        assert invoke("compare", before, name).exit_code == 0
        assert asked.pop() == [image]
    for names, said in (
        (("micropython@1.24..1.28", before), r"micropython@1\.24\.\.1\.28: names \d releases; name one, as"),
        (("micropython-1.28.0", "nothing"), "nothing: is not a run file"),
        (("micropython-1.28.0", "x@latest"), "x@latest: 'x' has no list of releases"),
    ):
        done = invoke("compare", *names)
        assert done.exit_code in (1, 2) and re.search(said, done.stderr) and not asked


def test_two_libraries_are_compared_in_one_image_and_in_other_layouts(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke, tmp_path: Path
) -> None:
    asked: list[object] = []

    def measure(images: list[str], options: dict[str, Any], _: object) -> list[RunFile]:
        asked.append((options["library"], options["layouts"]))
        libraries = {each.name: each.identity for each in map(read_library, options["library"])}
        return [run_of(row(10_000 + 300 * len(libraries), sim={}, libraries=libraries)) for _ in images]

    monkeypatch.setattr("portbench.runner.cli.comparing.measure_images", measure)
    for name in ("old", "new"):
        (tmp_path / f"{name}.py").write_text(name)
    old, new = ("adafruit_wiznet5k=old.py", "adafruit_wiznet5k=new.py")
    image = "circuitpython-9.1.4"
    assert invoke("compare", image, "--library", old, "--library", new).exit_code == 0
    done = invoke("compare", image, "--library", new, "--layouts=4", "--output=it.md")
    assert "this time may mislead; measure both on an emulated board with --layouts 8" in done.stdout
    written = (tmp_path / "it.md").read_text()
    assert f"ping_pong, adafruit_wiznet5k as pinned -> {read_library(new).identity} |" in written
    assert "\n\nA library calls the image's functions in another order" in written
    assert "mislead" not in invoke("compare", image, "circuitpython-8.2.6", "--library", new).stdout
    assert asked == [((old,), 8), ((new,), 8), ((), 4), ((new,), 4), ((new,), None)]
    run = stored(tmp_path, "run", exact(100))
    for words, said in (
        ((run, image, "--library", new), f"{run}: is a run that was measured before; name images to measure with"),
        ((image, "--library", old, "--library", "adafruit_wiznet5k=no"), "--library: no: is no library; name a folder"),
    ):
        done = invoke("compare", *words)
        assert done.exit_code in (1, 2) and said in done.stderr and len(asked) == 5


def test_images_for_two_boards_are_refused_before_one_is_measured(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "builds").mkdir()
    shutil.copy(NATIVE_IMAGE, tmp_path / "builds" / "a.uf2")
    shutil.copy(NATIVE_IMAGE.with_name("native_rp2350.uf2"), tmp_path / "builds" / "b.uf2")
    run = stored(tmp_path, "run", run_of(row(100, board="RPI_PICO")))
    for place in ("comparing", "verbs.bisect"):
        monkeypatch.setattr(f"portbench.runner.cli.{place}.measure_images", lambda *_: pytest.fail("it measures"))
    a, b = ("builds/a.uf2 has ping_pong on W5500_EVB_PICO", "builds/b.uf2 has ping_pong on W5500_EVB_PICO2")
    fix = "choose images for one board, and one --workload\n"
    done = invoke("compare", "builds/a.uf2", "builds/b.uf2")
    assert (done.exit_code, done.stderr) == (1, f"portbench: no row in common: {a}; {b}; {fix}")
    done = invoke("compare", run, "builds/a.uf2")
    assert (done.exit_code, done.stderr) == (
        1,
        f"portbench: no row in common: {run} has ping_pong on RPI_PICO; {a}; {fix}",
    )
    done = invoke("compare", "micropython-pico-1.26.1", "builds/a.uf2")  # its board has no network
    assert (done.exit_code, done.stderr) == (
        1,
        f"portbench: no row in common: micropython-pico-1.26.1 has no row; {a}; {fix}",
    )
    done = invoke("bisect", "builds")
    assert (done.exit_code, done.stderr) == (1, f"portbench: no row in common: {a}; {b}; {fix}")
    done = invoke("compare", "micropython-unix", "builds/a.uf2")
    on_this_pc = "micropython-unix has ping_pong on this PC"
    assert (done.exit_code, done.stderr) == (1, f"portbench: no row in common: {on_this_pc}; {a}; {fix}")


def test_a_missing_library_is_told_before_a_row_is_measured(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    for name in ("a.uf2", "b.uf2"):
        shutil.copy(NATIVE_IMAGE, tmp_path / name)
    done = invoke("compare", "a.uf2", "b.uf2")
    assert done.exit_code == 1 and f"needs scipy; install it: {with_extra('compare')}" in done.stderr
    assert not (tmp_path / "results").exists()
    run = stored(tmp_path, "a", exact(100))
    monkeypatch.setattr("portbench.runner.cli.verbs.run._measure", lambda *_: pytest.fail("it measures"))
    done = invoke("run", "--runtime=portbench-native", f"--baseline={run}")
    assert done.exit_code == 1 and f"needs scipy; install it: {with_extra('compare')}" in done.stderr


def test_samples_without_the_library_are_one_line(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke, tmp_path: Path
) -> None:
    """A plain install has no numpy either."""
    for library in ("scipy", "numpy"):
        monkeypatch.setitem(sys.modules, library, None)
    for count in (3, 4):
        runs = (run_of(*(row(start + n, n, where="silicon") for n in range(count))) for start in (100, 101))
        done = invoke("compare", *(stored(tmp_path, str(name), run) for name, run in enumerate(runs)))
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.endswith(f"needs scipy; install it: {with_extra('compare')}\n")
