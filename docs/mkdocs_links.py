"""Links out of docs/ work on GitHub as they are; on the site they lead to the repository."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Called by MkDocs for each page before it is rendered."""
    root = Path(config.docs_dir).parent
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def elsewhere(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        if target.startswith("docs/") or not (root / target).exists():
            return match[0]  # MkDocs says what leads nowhere
        kind = "tree" if (root / target).is_dir() else "blob"
        return f"{match[1]}{config.repo_url.rstrip('/')}/{kind}/main/{target}{match[3] or ''}{match[4]}"

    return _LINK.sub(elsewhere, markdown)
