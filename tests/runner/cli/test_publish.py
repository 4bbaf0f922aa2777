"""Pages from the command line, with the extra that draws them and without."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from portbench.install import with_extra
from portbench.results import storage
from tests.results.page_run import FULL
from tests.runner.conftest import Invoke


def test_the_first_table_goes_into_a_page_of_ones_own(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(storage.to_json(FULL))
    page = tmp_path / "own.md"
    page.write_text("a\n<!-- results -->\nold\n<!-- /results -->\nb\n")
    words = ("show", "publish", "run.json", "--output", "results.md", "--into", page)
    assert invoke(*words).exit_code == 0
    text = page.read_text()
    table = text.removeprefix("a\n<!-- results -->\n\n").removesuffix("\n<!-- /results -->\nb\n")
    assert "| micropython-1.26.0 |" in table and "network.WIZNET5K()" in table and "Reference" not in table
    for paragraph in table.strip("\n").split("\n\n"):
        assert paragraph in (tmp_path / "results.md").read_text()
    assert invoke(*words).exit_code == 0 and page.read_text() == text
    page.write_text("nothing\n")
    done = invoke(*words)
    assert (done.exit_code, page.read_text()) == (1, "nothing\n")
    assert done.stderr.endswith(
        "own.md: has no place for a table; put <!-- results --> and <!-- /results --> where it goes\n"
    )


def test_the_chart_is_one_picture_for_light_and_dark_and_goes_into_a_page(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(storage.to_json(FULL))
    page, chart = tmp_path / "README.md", tmp_path / "docs" / "chart.svg"
    page.write_text("<!-- results -->\n<!-- /results -->\n")
    page.with_name("start.md").write_text(page.read_text())
    words = ("show", "publish", "run.json", "--output", chart, "--into", page, "--into", page.with_name("start.md"))
    assert invoke(*words).exit_code == 0
    assert page.with_name("start.md").read_text() == page.read_text()
    drawn = chart.read_text()
    assert "prefers-color-scheme: dark" in drawn and "micropython-1.26.0 tuned" in drawn and "no Python" in drawn
    assert float(ElementTree.fromstring(drawn).attrib["width"]) > 0
    said = page.read_text()
    assert said.startswith(
        "<!-- results -->\n\n![Ping-pong: emulated, messages/s](docs/chart.svg)\n\nThe only Python here: "
    )
    assert "network.WIZNET5K()" in said and "| rank |" not in said
    assert invoke(*words).exit_code == 0 and (chart.read_text(), page.read_text()) == (drawn, said)


def test_without_the_extra_one_line_says_so(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text(storage.to_json(FULL))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    done = invoke("show", "publish", "run.json")
    line = f"portbench: a page of HTML needs vl_convert; install it: {with_extra('page')}"
    alone = "; or write Markdown alone: --output docs/results.md"
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"{line}{alone}\n")
    done = invoke("show", "publish", "run.json", "--output", "some.html")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"{line}\n")
    assert not (tmp_path / "docs").exists()
    done = invoke("show", "publish", "run.json", "--output", "docs/results.md")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "docs/results.md\n", "")
