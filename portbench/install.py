"""The commands that install portbench, its engine or the libraries of an extra, from where this portbench came."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

ON_INDEX: Final = False
"""Whether the names portbench and portbench-engine are ours on the package index; the first release sets it. Until
then no message and no page gives them to pip: another owner could run code on our users' machines."""

CLONE: Final = Path(__file__).parents[1]
_IN_A_CLONE: Final = "in a clone of portbench, run: pip install"


def in_clone() -> bool:
    """Whether this portbench runs from a clone of the repository."""
    return (CLONE / "engine" / "Cargo.toml").is_file()


def with_extra(extra: str) -> str:
    """The command that adds the libraries of `extra`."""
    if ON_INDEX:
        return f"pip install 'portbench[{extra}]'"
    if in_clone():
        engine = "" if _is_installed("portbench-engine") else f"'{CLONE / 'engine'}' "
        return f"pip install {engine}'{CLONE}[{extra}]'"
    source = _source("portbench")
    return f"pip install 'portbench[{extra}] @ {source}'" if source else f"{_IN_A_CLONE} ./engine '.[{extra}]'"


def engine_again() -> str:
    """What to do for an engine that works: a clone builds it, an installed portbench takes it from its source."""
    if in_clone():
        return "install Rust (rustup), then run: make build"
    source = "" if ON_INDEX else _source("portbench-engine")
    rust = "" if ON_INDEX or source.endswith(".whl") else "install Rust (rustup), then "
    if not ON_INDEX and not source:
        return f"{rust}{_IN_A_CLONE} --force-reinstall ./engine"
    named = f"'portbench-engine @ {source}'" if source else "portbench-engine"
    return f"{rust}run: pip install --force-reinstall --no-deps {named}"


def _is_installed(name: str) -> bool:
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


def _source(name: str) -> str:
    """The address of the wheel or folder that the package was installed from, as pip keeps it; "" without one."""
    told = json.loads(distribution(name).read_text("direct_url.json") or "{}") if _is_installed(name) else {}
    return "" if "vcs_info" in told else str(told.get("url", ""))
