"""Headless browsers for pages, driven by Playwright, and the playground's build."""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from filelock import FileLock

HERE: Final = Path(__file__).parent
_LIMIT_S: Final = 600
_NAMES: Final = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "firefox": ("firefox-esr", "firefox")}

Look = Callable[..., dict[str, Any]]
"""Runs a script of this folder with arguments in `browser` ("chromium"), and returns what it prints as JSON."""
Shared = Callable[[str, Callable[[Path], object]], Path]
"""The folder of that name, made by the first of pytest's processes that wants it."""


def _browser(name: str) -> str:
    found = next(filter(None, map(shutil.which, _NAMES[name])), None)
    if found is None:
        pytest.skip(f"no {name}; install it: sudo apt-get install {_NAMES[name][0]}")
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The playground first: its engine takes minutes to compile, while other processes run other tests."""
    items.sort(key=lambda item: item.path.name != "test_playground.py")


@pytest.fixture(scope="session")
def packages() -> None:
    """Skips without npm, or what package-lock.json pins: a Playwright that knows Debian's Firefox."""
    if shutil.which("npm") is None:
        pytest.skip("no npm; install Node.js 20 or later: sudo apt-get install nodejs npm")
    folder = HERE / "node_modules"
    with FileLock(HERE / "node_modules.lock"):
        installed, wanted = folder / ".package-lock.json", HERE / "package-lock.json"
        if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
            if done.returncode:
                pytest.skip(f"npm could not install what this test wants: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="session")
def look(packages: None, tmp_path_factory: pytest.TempPathFactory) -> Look:
    """Skips without the browser."""
    # Firefox refuses to run as root in another user's home, as GitHub's containers have it.
    variables = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home"))}

    def run(script: str, *arguments: object, browser: str = "chromium") -> dict[str, Any]:
        command = ["node", str(HERE / script), _browser(browser), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=HERE, env=variables, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return run


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Shared:
    own = tmp_path_factory.getbasetemp()
    base = own if worker_id == "master" else own.parent

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        made = base / name
        with FileLock(base / f"{name}.lock"):
            if not made.exists():
                new = base / f"{name}.new"
                shutil.rmtree(new, ignore_errors=True)
                make(new)
                new.rename(made)
        return made

    return folder


@pytest.fixture(scope="session")
def tool() -> ModuleType:
    """The playground's build script."""
    pytest.importorskip("portbench_engine._native", reason="no engine; build it: make build")
    spec = importlib.util.spec_from_file_location("web_build", HERE.parents[1] / "engine" / "web" / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
