"""docs/evidence/silicon.md agrees with its data, with itself and with the README."""

import re
from pathlib import Path

import pytest

from portbench.results.silicon import FigureSet, load
from portbench.runner.silicon.compare import LIMITS, compare, number, summary

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evidence" / "silicon.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<silicon>[^ |]+) \| (?P<emulated>[^|]+) \| (?P<ratio>[^|]*) \|$", re.M)


def section(publication: FigureSet) -> str:
    return PAGE.partition(f"## {publication.id}\n")[2].partition("\n## ")[0]


def rows(publication: FigureSet) -> list[re.Match[str]]:
    return [row for row in _ROW.finditer(section(publication)) if row["name"] not in ("figure", "---")]


def rounding(shown: str) -> float:
    """Half a step of the last digit that is shown."""
    digits = len(shown.partition(".")[2])
    return 0.5 / 10**digits


@pytest.mark.parametrize("publication", load(), ids=lambda each: each.id)
def test_a_publication_of_the_page_is_the_datas(publication: FigureSet) -> None:
    text = section(publication)
    assert publication.source in text and publication.what in text
    if "Not measured: " in text:
        return
    found = rows(publication)
    assert {row["name"]: row["silicon"] for row in found} == {
        name: number(value) for name, value in publication.silicon.items()
    }
    for row in found:
        silicon, emulated = publication.silicon[row["name"]], float(row["emulated"].split()[0])
        ratio = float(row["ratio"].strip("*"))
        assert ratio == pytest.approx(emulated / silicon, abs=0.0006 + rounding(row["emulated"].split()[0]) / silicon)


def test_what_is_bold_is_beyond_its_limit_and_counted() -> None:
    reports = []
    for publication in load():
        shown = {row["name"]: row["emulated"].split()[0] for row in rows(publication)}
        if not shown:
            continue
        report = compare(publication, {name: float(value) for name, value in shown.items()})
        reports.append(report)
        limit = LIMITS[publication.relation]
        if limit is None:
            continue
        ratios = {row["name"]: row["ratio"] for row in rows(publication)}
        for found in report.findings:
            # Where rounding decides, the page may say either.
            silicon = publication.silicon[found.name]
            apart = abs(float(shown[found.name]) - silicon)
            if abs(apart - max(limit * silicon, publication.resolution)) > rounding(shown[found.name]):
                assert (found.met is False) == ratios[found.name].startswith("**"), found
    assert f"**{summary(reports)}.**" in PAGE


def test_the_readme_begins_with_the_pages_summary() -> None:
    said = re.search(r"^\*\*(.+ of silicon)\.\*\*$", PAGE, re.M)
    assert said is not None
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_screen = " ".join(readme.splitlines()[:30])
    figures = r"\d+ of \d+|within \d+"
    assert re.findall(figures, first_screen) == re.findall(figures, said[1]) != []
    assert "docs/evidence/silicon.md" in first_screen


def test_the_pages_words_are_those_that_publish_writes() -> None:
    folder = ROOT / "runner" / "silicon"
    for name in ("foreword.md", "afterword.md"):
        assert (folder / name).read_text(encoding="utf-8").strip() in PAGE
