"""The commands that install the engine or the libraries of an extra, from where this portbench came."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

ON_INDEX: Final = False
"""True once the names portbench and portbench-engine are ours on the package index; the first release sets it. Until
then no message and no page gives them to pip: another owner could run code on our users' machines."""

CLONE: Final = Path(__file__).parents[1]
_REPOSITORY: Final = "git+https://github.com/portbench/portbench"


def with_extra(extra: str) -> str:
    """The command that adds the libraries of `extra`."""
    if _in_clone():
        engine = "" if _origin("portbench-engine") is not None else f"'{CLONE / 'engine'}' "
        return f"pip install {engine}'{CLONE}[{extra}]'"
    return f"pip install 'portbench[{extra}]{_from('portbench', _REPOSITORY)}'"


def engine_again() -> str:
    """The command for an engine that works: a clone builds it, an installed portbench takes it from its source."""
    if _in_clone():
        return "install Rust (rustup), then run: make build"
    source = _from("portbench-engine", f"{_REPOSITORY}#subdirectory=engine")
    rust = "" if ON_INDEX or source.endswith(".whl") else "install Rust (rustup), then "
    return f"{rust}run: pip install --force-reinstall --no-deps 'portbench-engine{source}'"


def _in_clone() -> bool:
    return (CLONE / "engine" / "Cargo.toml").is_file()


def _from(name: str, repository: str) -> str:
    """The address of the wheel or folder that a package was installed from, as pip takes it behind its name."""
    origin = _origin(name) or {}
    return "" if ON_INDEX else f" @ {repository if 'vcs_info' in origin else origin.get('url', repository)}"


def _origin(name: str) -> dict[str, Any] | None:
    """The record that pip keeps of it; None where the package is not installed."""
    try:
        return dict(json.loads(distribution(name).read_text("direct_url.json") or "{}"))
    except PackageNotFoundError:
        return None
