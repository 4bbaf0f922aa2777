"""The page's engine, which takes the place of the native one, has the calls of a measured run."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LOADED: Final = ("board", "client_watch", "liveness", "partner", "pings", "run", "simulation", "wire")
OF_PAIRS_AND_DESKS: Final = {"address_conflict", "join", "power_cycle", "run_beside"}


def test_the_page_has_every_call_of_a_row() -> None:
    tree = ast.parse((ROOT / "engine" / "web" / "python" / "_native.py").read_text(encoding="utf-8"))
    (machine,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Machine")
    there = {node.name for node in machine.body if isinstance(node, ast.FunctionDef)}
    sources = [(ROOT / "boards" / "emulated" / f"{name}.py").read_text(encoding="utf-8") for name in LOADED]
    asked = {name for text in sources for name in re.findall(r"\b(?:machine|_cable)\.(\w+)", text)}
    assert asked - there == OF_PAIRS_AND_DESKS
