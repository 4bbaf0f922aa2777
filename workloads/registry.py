"""Finds the workloads: the folders beside this file, and those in folders that the user names."""

import importlib
import os
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from portbench.errors import PortbenchError, UnknownName
from portbench.workloads.published import read_published
from portbench.workloads.workload import Workload

WORKLOADS_VARIABLE: Final = "PORTBENCH_WORKLOADS"
"""Folders with the user's workloads, separated as in PATH."""

_HERE = Path(__file__).parent
_SCRIPT = "workload.py"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def workloads() -> dict[str, Workload]:
    """All workloads by name, starting with those measured by default. Raises UnknownName for a broken one."""
    loaded = [_load(name, folder) for name, folder in _folders().items()]
    return {each.name: each for each in sorted(loaded, key=lambda each: (not each.by_default, each.name))}


def workload(name: str) -> Workload:
    """The workload called `name`. Raises UnknownName."""
    known = _folders()
    if name not in known:
        raise UnknownName(f"unknown workload {name!r}: there are {', '.join(known)}")
    return _load(name, known[name])


def _folders() -> dict[str, Path]:
    found: dict[str, Path] = {}
    named = [Path(part) for part in os.environ.get(WORKLOADS_VARIABLE, "").split(os.pathsep) if part]
    for root in (_HERE, *named):
        if not root.is_dir():
            raise UnknownName(f"{WORKLOADS_VARIABLE}: {root} is not a folder; name the folder that holds workloads")
        for script in sorted(root.glob(f"*/{_SCRIPT}")):
            name = script.parent.name
            if not _NAME.fullmatch(name):
                raise UnknownName(f"{script.parent}: is not a name of a workload; use letters a to z, digits and _")
            taken = found.get(name, _HERE / f"{name}.py")
            if taken.exists():
                raise UnknownName(f"{script.parent}: {taken} has that name already; rename one of them")
            found[name] = script.parent
    return found


@cache
def _load(name: str, folder: Path) -> Workload:
    package = f"{__package__}.{name}"
    if folder.parent != _HERE and package not in sys.modules:
        module = ModuleType(package)
        module.__path__ = [str(folder)]
        sys.modules[package] = module
    try:
        script = importlib.import_module(f"{package}.{_SCRIPT.removesuffix('.py')}")
        made: Workload = script.WORKLOAD
        read_published(folder)  # reports a mistake in it now, not in the middle of a table
    except PortbenchError as error:
        raise UnknownName(str(error)) from error
    except (Exception, SystemExit) as error:  # whatever the user's file does
        said = " ".join(str(error).split())
        raise UnknownName(f"{folder / _SCRIPT}: cannot be used ({type(error).__name__}: {said})") from error
    if not isinstance(made, Workload) or made.name != name:
        raise UnknownName(f"{folder / _SCRIPT}: WORKLOAD is not a workload called {name!r}; name it as its folder")
    return made
