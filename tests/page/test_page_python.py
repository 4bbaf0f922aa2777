"""The Python in the playground's page has all that it imports, and its engine each call of a row, without a browser."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Final
from urllib.parse import urlsplit

import pytest

from portbench.boards.emulated.config import EmulatedConfig
from portbench.firmware import catalogue

ROOT: Final = Path(__file__).parents[2]
STOOD_IN_FOR: Final = {"psutil", "serial", "portbench", "portbench_engine"}
"""Those of engine/web/python, and this repository's own."""
OF_THE_LOCK: Final = {"pydantic", "pydantic_core"}
OPTIONAL: Final = {"wcwidth"}
"""tabulate takes it where another package has brought it."""

IMPORTED: Final = """
import json, sys
import portbench.boards.emulated.board, portbench.runner.kinds.served, jinja2
from portbench.workloads import workloads
workloads()
files = {name: module.__file__ for name, module in sys.modules.items() if getattr(module, "__file__", None)}
print(json.dumps({name: file for name, file in files.items() if name.partition(".")[0] not in sys.stdlib_module_names}))
"""
PAGE_RUN: Final = (ROOT / "engine" / "web" / "python" / "page_run.py").read_text(encoding="utf-8")
BY_PAGE: Final = "\n".join(line for line in PAGE_RUN.splitlines() if line.startswith("from portbench"))

pytestmark = pytest.mark.engine


@pytest.mark.slow
def test_each_library_that_measuring_imports_is_in_the_page(tool: ModuleType) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BY_PAGE + IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = json.loads(done.stdout)
    imported = {name.partition(".")[0] for name in files if not name.startswith("_")}
    brought = {
        Path(file.parts[0]).stem
        for library in tool.LIBRARIES
        for file in importlib.metadata.files(library) or ()
        if file.suffix == ".py"
    }
    assert imported - STOOD_IN_FOR - OF_THE_LOCK - OPTIONAL <= brought
    own = {Path(file).resolve() for name, file in files.items() if name.partition(".")[0] == "portbench"}
    assert own <= {path.resolve() for path in dict(tool.python_files()).values()}


def test_the_archive_has_portbench_and_its_data(tool: ModuleType) -> None:
    names = dict(tool.python_files())
    assert {"portbench/runner/bench.py", "portbench/firmware/catalogue.toml", "page_run.py", "absent.py"} <= set(names)
    assert names["portbench_engine/_native.py"] == ROOT / "engine" / "web" / "python" / "_native.py"
    assert not [name for name in names if name.endswith(".so")]


def test_the_page_knows_its_boards_workloads_and_images(tool: ModuleType) -> None:
    boards = {each["id"]: each for each in json.loads(tool.boards())}
    pico_w, evb = boards["RPI_PICO_W"], boards["W5500_EVB_PICO"]
    assert (pico_w["network"], pico_w["cable"], evb["network"], evb["cable"]) == ("CYW43439", False, "W5500", True)
    assert evb["settings"]["retry_unit_ns"] == EmulatedConfig().retry_unit_ns
    known = json.loads(tool.known())
    settings = {each["name"]: [setting["name"] for setting in each["settings"]] for each in known["workloads"]}
    assert settings["ping_pong"] == ["messages"]
    assert "micropython-1.26.0" in known["images"].values()
    entries = {entry.id: entry for entry in catalogue.load()}
    menu = known["firmware"]
    assert {each["board"] for each in menu if entries[each["id"]].family in ("micropython", "wiznet")} == set(boards)
    for each in menu:
        assert (each["board"], each["sha256"]) == (entries[each["id"]].board, entries[each["id"]].sha256)
        # Neither lets a page read its files: docs/playground.md.
        assert urlsplit(each["url"]).hostname not in ("github.com", "downloads.circuitpython.org", None)
    ids = [each["id"] for each in menu if each["board"] == "W5500_EVB_PICO"]
    assert ids[:3] == ["micropython-1.28.0", "micropython-1.26.0", "circuitpython-9.1.4"]
    assert {"official", "by WIZnet", "by thegridelectric on GitHub"} <= {each["publisher"] for each in menu}


def test_a_build_leaves_no_file_of_an_earlier_one(tool: ModuleType, tmp_path: Path) -> None:
    for name in ("page.js", "vega-OLD.js", "own.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / tool.LIST).write_text(json.dumps(["./", "page.js", "vega-OLD.js", "gone.js"]), encoding="utf-8")
    tool.clear(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [tool.LIST, "own.txt"]


LOADED: Final = ("board", "client_watch", "liveness", "partner", "pings", "run", "simulation", "wire")
OF_PAIRS_AND_DESKS: Final = {"address_conflict", "join", "power_cycle", "run_beside"}


def test_the_page_has_every_call_of_a_row() -> None:
    tree = ast.parse((ROOT / "engine" / "web" / "python" / "_native.py").read_text(encoding="utf-8"))
    (machine,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Machine")
    there = {node.name for node in machine.body if isinstance(node, ast.FunctionDef)}
    sources = [(ROOT / "boards" / "emulated" / f"{name}.py").read_text(encoding="utf-8") for name in LOADED]
    asked = {name for text in sources for name in re.findall(r"\b(?:machine|_cable)\.(\w+)", text)}
    assert asked - there == OF_PAIRS_AND_DESKS
