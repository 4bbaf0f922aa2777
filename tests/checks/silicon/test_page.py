"""docs/evidence/silicon.md agrees with its data, with itself and with the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portbench.results.silicon import FigureSet, load
from portbench.runner.checks.silicon.table import number
from portbench.runner.checks.silicon.verdict import LIMITS, Compared, Outcome, summary

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evidence" / "silicon.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<silicon>[^ |]+) \| (?P<emulated>[^|]+) \| (?P<ratio>[^|]*) \|$", re.M)


def section(figures_of: FigureSet) -> str:
    return PAGE.partition(f"## {figures_of.id}\n")[2].partition("\n## ")[0]


def rows(figures_of: FigureSet) -> list[re.Match[str]]:
    return [row for row in _ROW.finditer(section(figures_of)) if row["name"] not in ("figure", "---")]


def rounding(shown: str) -> float:
    """Half a step of the last digit that is shown."""
    digits = len(shown.partition(".")[2])
    return 0.5 / 10**digits


@pytest.mark.parametrize("figures_of", load(), ids=lambda each: each.id)
def test_a_set_of_the_page_is_the_datas(figures_of: FigureSet) -> None:
    text = section(figures_of)
    assert figures_of.source in text and figures_of.what in text
    if "Not measured: " in text:
        return
    found = rows(figures_of)
    assert {row["name"]: row["silicon"] for row in found} == {
        name: number(value) for name, value in figures_of.silicon.items()
    }
    for row in found:
        silicon, emulated = figures_of.silicon[row["name"]], float(row["emulated"].split()[0])
        ratio = float(row["ratio"].strip("*"))
        assert ratio == pytest.approx(emulated / silicon, abs=0.0006 + rounding(row["emulated"].split()[0]) / silicon)


def test_what_is_bold_is_beyond_its_limit_and_counted() -> None:
    outcomes = []
    for figures_of in load():
        compared = []
        for row in rows(figures_of):
            silicon, shown = figures_of.silicon[row["name"]], row["emulated"].split()[0]
            compared.append(Compared(row["name"], silicon, float(shown), resolution=figures_of.resolution))
            limit = LIMITS[figures_of.relation]
            if limit is None:
                continue
            # Where rounding decides, the page may say either.
            apart = abs(float(shown) - silicon)
            if abs(apart - max(limit * silicon, figures_of.resolution)) > rounding(shown):
                assert (compared[-1].within(limit) is False) == row["ratio"].startswith("**"), row.group()
        outcomes.append(Outcome(figures_of, tuple(compared)))
    assert f"**{summary(outcomes)}.**" in PAGE


def test_the_readme_begins_with_the_pages_summary() -> None:
    said = re.search(r"^\*\*(.+ of silicon)\.\*\*$", PAGE, re.M)
    assert said is not None
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_screen = " ".join(readme.splitlines()[:30])
    assert said[1] in first_screen and "docs/evidence/silicon.md" in first_screen


def test_the_pages_words_are_those_that_publish_writes() -> None:
    folder = ROOT / "runner" / "checks" / "silicon"
    for name in ("foreword.md", "afterword.md"):
        assert (folder / name).read_text(encoding="utf-8").strip() in PAGE
