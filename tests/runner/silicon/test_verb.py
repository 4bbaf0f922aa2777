"""`portbench check silicon`: status, tables, records and the page, with reports that no image is needed for."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from portbench.boards import BoardError
from portbench.results.silicon import FigureSet, load
from portbench.runner.cli.verbs.check import silicon
from portbench.runner.silicon.check import Silicon
from portbench.runner.silicon.compare import Report, compare
from tests.runner.conftest import Invoke

Measured = Callable[..., None]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Takes the place of the runs: every figure by `ratio`, and the publication `missing` not at all."""

    def stand_in(ratio: float, missing: str = "") -> None:
        def run(self: Silicon, publication: FigureSet) -> Report:
            if publication.id == missing:
                raise BoardError("no image")
            return compare(
                publication, {name: value * ratio for name, value in publication.silicon.items()}, ("a note",)
            )

        monkeypatch.setattr(Silicon, "_measure", run)
        monkeypatch.setattr(silicon, "needs_engine", lambda: None)

    return stand_in


@pytest.mark.parametrize(
    ("words", "ratio", "status"),
    [
        (("--part=circuitpython-9.1.4",), 1.009, 0),
        (("--part=circuitpython-9.1.4",), 1.02, 1),
        (("--part=perf-bench",), 1.2, 0),
    ],
)
def test_only_the_same_binary_or_source_may_fail(
    words: tuple[str, ...], ratio: float, status: int, invoke: Invoke, measured: Measured
) -> None:
    measured(ratio)
    assert invoke("check", "silicon", *words).exit_code == status


def test_a_missing_publication_is_told_in_the_status(invoke: Invoke, measured: Measured) -> None:
    measured(1.0, missing="circuitpython-9.1.4")
    done = invoke("check", "silicon")
    assert done.exit_code == 1 and "skipped: no image" in done.stdout
    last = done.stderr.splitlines()[-1]
    assert last == f"1 of {len(load())} parts could not be measured: circuitpython-9.1.4"


def test_both_halves_of_the_figures_are_told(invoke: Invoke, measured: Measured) -> None:
    measured(1.02)
    said = " ".join(invoke("check", "silicon", "--part", "circuitpython-9.1.4").stdout.split())
    assert "model was chosen 0 of 4 are within 1%, of those that had no part in it 0 of 23." in said


def test_the_tables_fit_a_pipe(invoke: Invoke, measured: Measured) -> None:
    measured(1.02)
    done = invoke("check", "silicon")
    tables = [line for line in done.stdout.splitlines() if "Of the figures" not in line and "are within" not in line]
    assert all(len(line.rstrip()) <= 100 for line in tables)
    for each in load():
        assert each.id in done.stdout
    for part in ("Mandelbrot iterating 5000 times", "97 ms", "98.94 ms", "1.020 of silicon, beyond 1%", "a note"):
        assert part in done.stdout


def test_records_are_read_again_and_make_the_page(invoke: Invoke, tmp_path: Path, measured: Measured) -> None:
    files = []
    held = ("same binary", "same source")
    same_image = [f"--part={each.id}" for each in load() if each.relation in held]
    count = sum(len(each.silicon) for each in load() if each.relation == "same binary")
    for ratio, words in ((1.5, ()), (1.005, same_image)):
        measured(ratio)
        files.append(tmp_path / f"{ratio}.json")
        printed = invoke("check", "silicon", "--json", f"--record={files[-1]}", *words).stdout
        assert json.loads(printed)["parts"] == json.loads(files[-1].read_text())["parts"]
    page = tmp_path / "page.md"
    done = invoke("check", "silicon", *(f"--from={file}" for file in files), "--publish", str(page))
    assert done.exit_code == 0, done.stderr  # the later record of a publication counts
    text = page.read_text()
    assert f"{count} of {count} figures of the same image are within 1%" in text
    assert "0 of " in text and "| bm_chaos | 215.3 | 322.9 | **1.500** |" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a record"),
        ("[]", "is not a record"),
        ('{"parts": 3}', "is not a record"),
        ('{"parts": []}', "no record has circuitpython-9.1.4"),
    ],
)
def test_a_file_that_is_no_record_is_one_line(content: str, says: str, invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    done = invoke("check", "silicon", f"--from={file}")
    assert done.exit_code == 1 and says in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--part=nothing",), "--part: unknown part 'nothing'; choose one of circuitpython-9.1.4"),
        (("--part=perf-bench", "--publish=page.md"), "leave out --part"),
        (("--record=nowhere/file.json",), "--record: nowhere is not a folder"),
    ],
)
def test_wrong_options_are_one_line(words: tuple[str, ...], says: str, invoke: Invoke) -> None:
    done = invoke("check", "silicon", *words)
    assert done.exit_code == 2 and says in done.stderr


def test_the_publications_are_listed(invoke: Invoke) -> None:
    lines = invoke("check", "silicon", "--list").stdout.splitlines()
    assert lines[0] == "circuitpython-9.1.4: 27 figures of CircuitPython 9.1.4, same binary"
    assert len(lines) == len(load())
