"""The site beyond docs/: workloads' pages, the page of the shipped run, and links to the repository."""

import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

_RUN = "results/figures/W5500_EVB_PICO.json"
_DRAWN = "page.html"
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


def on_files(files: Any, *, config: Any) -> Any:
    """Called by MkDocs with the files of docs/: the workloads' pages join them, as a group."""
    root = Path(config.docs_dir).parent
    folder = root / "workloads"
    found = [path.relative_to(root).as_posix() for path in (folder / "README.md", *sorted(folder.glob("*/README.md")))]
    for page in found:
        files.append(File.generated(config, page, abs_src_path=str(root / page)))
    group = next(each for each in config.nav if "Choose a firmware" in each)
    config.nav.insert(config.nav.index(group) + 1, {"Workloads": found})
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Called by MkDocs for each page before it is rendered."""
    root = Path(config.docs_dir).parent
    here = posixpath.dirname(page.file.src_uri)
    folder = here if page.file.src_uri.startswith("workloads/") else posixpath.join("docs", here)

    def on_the_site(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        uri = target.removeprefix("docs/")
        if files.get_file_from_path(uri) or not (root / target).exists():
            place = posixpath.relpath(uri, here or ".")  # MkDocs says what leads nowhere
        else:
            kind = "tree" if (root / target).is_dir() else "blob"
            place = f"{config.repo_url.rstrip('/')}/{kind}/main/{target}"
        return f"{match[1]}{place}{match[3] or ''}{match[4]}"

    text = _LINK.sub(on_the_site, markdown)
    if page.file.src_uri == "results.md":
        text = text.replace("\n\n", f'\n\n<a href="../{_DRAWN}">The same figures as drawings</a>\n\n', 1)
    return text


def on_page_content(html: str, *, page: Any, config: Any, files: Any) -> str:
    """Called by MkDocs for each page's text. Keys scroll wide tables and drawings, too."""
    return html.replace("<table>", '<table tabindex="0">').replace("<p><img", '<p tabindex="0"><img')


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Called by MkDocs for each page. The theme asks GitHub for stars, and gives its search no name."""
    named = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return named.replace(' data-md-component="source"', "")


def on_post_build(*, config: Any) -> None:
    """Called by MkDocs at its end: draws the run whose figures come with portbench."""
    root, page = Path(config.docs_dir).parent, Path(config.site_dir) / _DRAWN
    command = [sys.executable, "-m", "portbench", "show", "publish", _RUN, "--output", str(page)]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
