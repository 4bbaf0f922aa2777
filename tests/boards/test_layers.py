"""The layers of docs/architecture.md: which folder imports which."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

HOUSE: Final = Path(__file__).parents[2] / "portbench"
MAY_IMPORT: Final = {
    "workloads": "",
    "firmware": "",
    "server": "workloads",
    "results": "workloads",
    "clients": "boards firmware workloads",
    "testing": "boards boards/emulated firmware server workloads",
    "boards": "firmware workloads",
    "boards/kinds": "boards boards/usb",
    "boards/usb": "boards firmware",
    "boards/remote": "boards boards/usb firmware",
    "boards/labgrid": "boards boards/usb boards/remote firmware",
    "boards/emulated": "boards firmware server workloads",
    "boards/hosted": "boards boards/emulated firmware server workloads",
    "boards/desk": "boards boards/emulated boards/usb firmware server workloads",
}
"""Besides the modules of `portbench` itself, and `certificates`."""
FOLDERS: Final = (*sorted(MAY_IMPORT, key=len, reverse=True), "runner")


def folder_of(path: str) -> str | None:
    return next((folder for folder in FOLDERS if f"{path}/".startswith(f"{folder}/")), None)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_is_below_it(folder: str) -> None:
    allowed = {folder, None, *MAY_IMPORT[folder].split()}
    files = [path for path in (HOUSE / folder).rglob("*.py") if folder_of(str(path.relative_to(HOUSE))) == folder]
    found = {
        f"{path.relative_to(HOUSE)} imports {name}"
        for path in files
        for name in imports(path)
        if name.startswith("portbench.") and folder_of(name.split(".", 1)[1].replace(".", "/")) not in allowed
    }
    assert files and not found
