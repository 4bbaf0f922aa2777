"""The documents' links, on GitHub and on the site that is built of them."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        path = link.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            assert (page.parent / path).resolve().exists(), link


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("material") is None:
        pytest.skip("no mkdocs-material; install it: pip install 'portbench[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


def test_the_site_has_every_page_and_asks_for_nothing_from_elsewhere(site: Path) -> None:
    for page in PAGES:
        place = page.relative_to(DOCS).with_suffix("")
        folder = place.parent if place.name == "README" else place
        text = (site / folder / "index.html").read_text(encoding="utf-8")
        assert not re.search(r"<(script|img|iframe)[^>]*\ssrc=\"?(https?:)?//|<link[^>]*stylesheet[^>]*https?://", text)


def test_links_out_of_the_documents_lead_to_the_repository(site: Path) -> None:
    links = re.findall(r'href="([^"]+)"', (site / "index.html").read_text(encoding="utf-8"))
    assert "https://github.com/portbench/portbench/blob/main/workloads/README.md" in links
    assert "results/" in links or "results/index.html" in links
    assert not [link for link in links if link.startswith("..")]
