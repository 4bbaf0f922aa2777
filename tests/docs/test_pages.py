"""Pages with figures have those that are stored, and the pages of the runtimes what the catalogue has."""

import re
from pathlib import Path

import pytest

from portbench.boards import board_definition
from portbench.errors import UnknownName
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.results.histories.page_blocks import filled
from portbench.results.histories.store import load
from portbench.runner.program import profile_line

ROOT = Path(__file__).parents[2]
RUNTIMES = ROOT / "docs" / "runtimes"
ENTRIES = [entry for entry in catalogue.load() if entry.family is not Family.FOREIGN]
MAKE = "run: portbench show history --history docs/history --pages docs/runtimes"


def page_of(entry: FirmwareEntry) -> str:
    """The page of the runtime's family."""
    return (RUNTIMES / f"{entry.family}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_runtime_is_on_its_familys_page_with_the_lines_to_paste(entry: FirmwareEntry) -> None:
    text = page_of(entry)
    assert entry.id in text
    try:
        board = board_definition(entry.board)
    except UnknownName:
        return  # of a port on the PC
    for profile in entry.profiles:
        line = profile_line(entry, board, profile)
        assert line is None or line in text, profile.name


@pytest.mark.parametrize("page", sorted(RUNTIMES.glob("*.md")), ids=lambda page: page.stem)
def test_the_figures_are_those_that_are_stored(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text, load(ROOT / "docs" / "history")) == text, MAKE


def test_every_page_is_in_the_list_of_them() -> None:
    listed = (RUNTIMES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w+)\.md\)", listed)) == {page.stem for page in RUNTIMES.glob("[a-z]*.md")}


def test_the_readme_has_the_chart_and_the_answer_of_the_results() -> None:
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- results -->\n\n(.*?)\n<!-- /results -->", readme, re.DOTALL)
    assert found is not None
    chart, *answer = found[1].strip("\n").split("\n\n")
    assert chart == "![Ping-pong: emulated, messages/s](docs/images/results.svg)" and answer
    for paragraph in answer:
        assert " ".join(paragraph.split()) in " ".join(results.split()), "run: make publish"
    drawn = (ROOT / "docs" / "images" / "results.svg").read_text(encoding="utf-8")
    rows = re.findall(r"^\| +[\d-]+ \| (\S+) +\| (\S+) +\| +([\d.]+) ", results, re.MULTILINE)
    assert len(rows) > 2
    for runtime, profile, figure in rows:
        assert f">{runtime} {profile}<" in drawn and re.search(rf">{figure}[,<]", drawn), "run: make publish"


def test_the_sites_start_has_the_same_chart_and_answer() -> None:
    blocks = [
        path.read_text(encoding="utf-8").partition("<!-- results -->")[2].partition("<!-- /results -->")[0]
        for path in (ROOT / "README.md", ROOT / "docs" / "README.md")
    ]
    assert blocks[1] == blocks[0].replace("(docs/images/", "(images/"), "run: make publish"


def test_the_readme_is_short_and_its_first_command_comes_at_once() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    assert len(re.split(r"^ {4}", readme, maxsplit=1, flags=re.MULTILINE)[0].split()) <= 80


def test_the_tables_of_the_results_fit_github() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    ranked = [line for line in text.splitlines() if re.match(r"\|\s+(rank|\d+|-) ", line)]
    assert ranked and max(map(len, ranked)) <= 100


def test_each_file_of_ours_on_a_page_is_there() -> None:
    """Names in capitals, as in `clients/FAMILY/networked.py`, stand for others."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("workloads/*/*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages if page.name != "CHANGELOG.md")
    named = {path for path in re.findall(r"`((?:\w[\w.-]*/)+\w+\.(?:py|rs))`", text) if path == path.lower()}
    ours = {path for path in named if (ROOT / path.partition("/")[0]).is_dir()}
    assert len(ours) > 30
    assert not {path for path in ours if not (ROOT / path).is_file()}


REFUSAL = re.compile(r'\bunmodelled\(\s*(?:sys,\s*|format!\(\s*)*"(?P<name>[^"{]*)')


def test_the_limits_name_all_that_ends_a_run() -> None:
    """By their beginnings, as of `PSM.{name} write`."""
    page = (ROOT / "docs" / "emulator-limits.md").read_text(encoding="utf-8")
    crates = ("armv6m", "armv8m", "hazard3", "parts", "rp")
    sources = [path for crate in crates for path in (ROOT / "engine" / crate / "src").rglob("*.rs")]
    named = {found["name"] for path in sources for found in REFUSAL.finditer(path.read_text(encoding="utf-8"))}
    assert {"USBCTRL host mode", "SPI slave mode", "flash chip instruction 0x"} <= named
    missing = {name for name in named if re.split(r" \(| 0x", name)[0] not in page}
    assert not missing
