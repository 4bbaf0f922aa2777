"""What pytest loads wherever portbench is installed: the bench itself only where the command line asks for it.

Nobody's own tests get the bench's options, nor wait for what it imports.
"""

from __future__ import annotations

import copy
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portbench.toml_files import users_files

BENCH = "portbench.runner.plugin"
_OWN_OPTIONS = "portbench_"
_ROWS = ("rows", "rows/", "test_rows.py")
_PACKAGE = Path(__file__).parents[1]


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """After people's own conftest files, whose options are known by now; a plugin that comes now can still add some."""
    manager = early_config.pluginmanager
    if manager.has_plugin(BENCH) or not _may_ask_for_the_bench(early_config, parser, args):
        return
    manager.import_plugin(BENCH)


def _may_ask_for_the_bench(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> bool:
    """Whether the bench, which knows better, is to look at the command line."""
    known, unknown = parser.parse_known_and_unknown_args(args, copy.copy(config.option))
    given: dict[str, Any] = vars(known)
    return (
        bool(given.get("help"))
        or any(option.startswith("--") for option in unknown)
        or any(value is not None for name, value in given.items() if name.startswith(_OWN_OPTIONS))  # xdist's workers
        or any(str(path).split("::")[0].endswith(_ROWS) for path in given.get("file_or_dir") or ())
        or re.search(r"\bbench\b", given.get("markexpr") or "") is not None
        or any(_may_name_rows(word) for word in re.findall(r"[\w.\-]+", given.get("keyword") or ""))
    )


def _may_name_rows(word: str) -> bool:
    return word == "runtime" or any(word.startswith(name) for name in _row_names())


def _row_names() -> Iterator[str]:
    """Of workloads and of catalogues, read without what checks them."""
    for folders in (str(_PACKAGE / "workloads"), os.environ.get("PORTBENCH_WORKLOADS", "")):
        for folder in filter(None, folders.split(os.pathsep)):
            yield from (path.parent.name for path in Path(folder).glob("*/workload.py"))
    for file in (_PACKAGE / "firmware" / "catalogue.toml", *users_files("PORTBENCH_CATALOGUE", "catalogue.toml")):
        try:
            entries = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # the bench would say what is wrong with it, if it were asked for
        yield from (str(entry.get("id")) for entry in entries.get("image", ()) if isinstance(entry, dict))
