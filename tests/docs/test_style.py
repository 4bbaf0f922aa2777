"""Mannerisms of docs/style.md, counted in everything that a person reads, against limits that only fall."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests import patience

ROOT: Final = Path(__file__).parents[2]
_WORDS: Final = r"""
    \b(?:whoever|whomever|nobody|anybody|somebody|meanwhile)\b
  | \bbe\ had\b
  | \bof\ (?:its|their|one's)\ own\b
  | (?:^|[.:;]\s+)(?:what|who|where|whether)\ (?:\w+[ ]){1,12}?(?:is|are|was|were)\b[^?\n]*(?:[.;:,]|$)
  | \bwhat\ (?:is|are|was|were|has|had|comes|came)\b(?![^.;:]*\?)
  | (?:^|[.:;]\s+)let\ (?!-)
"""
_MANNERISM: Final = re.compile(_WORDS, re.IGNORECASE | re.VERBOSE | re.MULTILINE)
_OPENER: Final = re.compile(r"(?:Of|As|The same|What|Whether|How|Where)\b")
"""Words that do not begin a docstring."""
_WIDTH: Final = 120
_EXEMPT: Final = ("CHANGELOG.md", "docs/style.md", "tests/docs/test_style.py")
_WRITTEN_BY_COMMANDS: Final = ("docs/results.md", "docs/evidence/silicon.md", "docs/evidence/peers.md")
"""Their lines are as wide as their tables and sources."""

LIMITS: Final = {
    ".": 0,
    "boards": 0,
    "clients": 3,
    "docs": 0,
    "engine": 0,
    "firmware": 0,
    "results": 0,
    "runner": 0,
    "server": 0,
    "tests": 1,
    "workloads": 7,
}
"""The most that a folder may have. Lower a limit when you have mended some; never raise one."""
OPENERS: Final = {"workloads": 10}
"""Docstrings with such an opener. Those left are of functions on the board, whose bytes golden rows fix."""


def _files(*endings: str) -> list[str]:
    listed = patience.run(["git", "ls-files", "--", *endings], 120, cwd=ROOT)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a git checkout; the files of the project are not known")
    return [name for name in listed.stdout.splitlines() if name not in _EXEMPT and (ROOT / name).is_file()]


def _markdown(text: str) -> Iterator[str]:
    """Paragraphs and cells, without code."""
    text = re.sub(r"^ *```.*?^ *```|^(?: {4}|\t)[^\n]*$|`[^`\n]*`|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|^\s*[-*] |\|", text, flags=re.MULTILINE):
        yield " ".join(paragraph.split())


def _python(text: str) -> Iterator[str]:
    """Comments, and texts that are sentences: docstrings, help, errors."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield " ".join(node.value.split())


def _commented(mark: str, text: str) -> Iterator[str]:
    """Blocks of comments that begin with `mark`, without code."""
    for block in re.findall(rf"(?:^[ \t]*{mark}.*\n?)+|[ \t]{mark}.*$", text, re.MULTILINE):
        words = " ".join(re.sub(rf"^[ \t]*{mark}", "", block, flags=re.MULTILINE).split())
        yield re.sub(r"```.*?```", "", words)


def _texts(name: str) -> Iterator[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(".md"):
        return _markdown(text)
    if name.endswith(".py"):
        return _python(text)
    return _commented(r"//[/!]?" if name.endswith(".rs") else "#", text)


def _folder(name: str) -> str:
    return name.partition("/")[0] if "/" in name else "."


def _docstrings(name: str) -> Iterator[str]:
    """Docstrings, also those of constants and attributes."""
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            values = [each.value for each in node.body if isinstance(each, ast.Expr)]
            yield from (v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))


def test_docstrings_begin_with_a_noun_or_an_imperative() -> None:
    found: dict[str, list[str]] = {}
    for name in _files("*.py"):
        hits = [f"{name}: {text[:60]}" for text in _docstrings(name) if _OPENER.match(text)]
        found.setdefault(_folder(name), []).extend(hits)
    over = {folder: hits for folder, hits in found.items() if len(hits) > OPENERS.get(folder, 0)}
    assert not over, over


def test_no_folder_has_more_mannerisms_than_its_limit() -> None:
    found: dict[str, list[str]] = {}
    for name in _files("*.md", "*.py", "*.rs", "*.toml"):
        for text in _texts(name):
            found.setdefault(_folder(name), []).extend(f"{name}: {match[0]}" for match in _MANNERISM.finditer(text))
    over = {folder: hits for folder, hits in found.items() if len(hits) > LIMITS.get(folder, 0)}
    counts = {folder: len(hits) for folder, hits in sorted(found.items())}
    assert not over, f"{counts}, limits {LIMITS}; see docs/style.md:\n" + "\n".join(
        hit for h in over.values() for hit in h
    )


@pytest.mark.parametrize("text", ["whoever listens", "What comes of it is told.", "can be had", "Let it go on."])
def test_a_mannerism_is_found(text: str) -> None:
    assert _MANNERISM.search(text)


def test_pages_are_at_most_120_columns_wide() -> None:
    """Except where a line cannot be broken: tables, code and marks."""
    wide = [
        f"{name}:{number}"
        for name in _files("*.md")
        if name not in _WRITTEN_BY_COMMANDS
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > _WIDTH and not re.match(r" *(\||<!--)|    ", line)
    ]
    assert not wide, wide
