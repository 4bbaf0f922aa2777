"""The documents' links, on GitHub and on the site that is built of them."""

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import patience
from tests.page.conftest import Look

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WORKLOADS = sorted((ROOT / "workloads").rglob("README.md"))
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        path = link.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            assert (page.parent / path).resolve().exists(), link


@pytest.mark.parametrize("page", [*PAGES, *WORKLOADS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_goes_on_in_a_list_is_in_it_on_the_site_too(page: Path) -> None:
    """Python-Markdown wants four blanks before a further paragraph of an item, and an empty line after it."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    assert re.findall(r"\n\n {1,3}(?![- ])(.*)", text) == []
    assert re.findall(r"\n\n {4}\S.*(?:\n {4,}.*)*\n((?:- |\d+\. ).*)", text) == [], "no blank line before it"
    assert not re.search(r"\n\n\|[^\n]*\n(?!\|[-: |]+\n)", text), "a table has no heading"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("material") is None:
        pytest.skip("no mkdocs-material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = patience.run(command, 240, cwd=ROOT, env=environment)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


def test_the_site_has_every_page_and_asks_for_nothing_from_elsewhere(site: Path) -> None:
    for page in PAGES:
        place = page.relative_to(DOCS).with_suffix("")
        folder = place.parent if place.name == "README" else place
        text = (site / folder / "index.html").read_text(encoding="utf-8")
        assert not re.search(r"<(script|img|iframe)[^>]*\ssrc=\"?(https?:)?//|<link[^>]*stylesheet[^>]*https?://", text)
        assert "<th></th>" not in text, "a column has no heading"
        # A search engine and a screen reader learn nothing from such a link; Lighthouse has this list.
        links = re.findall(r"<a\b[^>]*>(.*?)</a>", text, re.DOTALL)
        said = {re.sub(r"<[^>]+>", "", link).strip().lower() for link in links}
        assert not said & {"click here", "go", "here", "information", "learn more", "more", "start", "this"}, said
    assert 'href="/portbench/site.css"' in (site / "404.html").read_text(encoding="utf-8")


def test_links_out_of_the_documents_lead_to_the_repository(site: Path) -> None:
    links = re.findall(r'href="([^"]+)"', (site / "index.html").read_text(encoding="utf-8"))
    assert "https://github.com/portbench/portbench/blob/main/CONTRIBUTING.md" in links
    assert "workloads/" in links and (site / "workloads" / "ping_pong" / "index.html").exists()
    assert "results/" in links or "results/index.html" in links
    assert 'href="../page.html"' in (site / "results" / "index.html").read_text(encoding="utf-8")
    assert "<svg" in (site / "page.html").read_text(encoding="utf-8")
    assert not [link for link in links if link.startswith("..")]


def test_the_playground_is_beside_the_site_where_it_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("mkdocs_links", DOCS / "mkdocs_links.py")
    assert spec is not None and spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    config = SimpleNamespace(docs_dir=str(tmp_path / "docs"), site_dir=str(tmp_path / "site"))
    page = SimpleNamespace(file=SimpleNamespace(src_uri="playground.md"))
    assert hooks.on_page_markdown("# Title\n\nText", page=page, config=config, files=None) == "# Title\n\nText"
    (tmp_path / "build" / "playground").mkdir(parents=True)
    (tmp_path / "build" / "playground" / "index.html").write_text("the page", encoding="utf-8")
    assert '<a href="../try/">' in hooks.on_page_markdown("# Title\n\nText", page=page, config=config, files=None)
    monkeypatch.setattr(hooks.subprocess, "run", lambda *_, **__: None)
    hooks.on_post_build(config=config)
    assert (tmp_path / "site" / "try" / "index.html").read_text(encoding="utf-8") == "the page"


@pytest.mark.slow
def test_pages_fit_a_phone_and_a_desk_and_axe_finds_no_violation(site: Path, look: Look) -> None:
    """The first page, and those with most code, the widest tables and a drawing."""
    pages = ("", "testing-your-app/", "evidence/pico-w/", "sweep/")
    looks = look("site.mjs", site, *pages)["looks"]
    assert len(looks) == 2 * len(pages)
    for found in looks:
        assert (found["overflow_px"], found["violations"]) == (0, []), found
        assert (found["console"], found["elsewhere"]) == ([], []), found
