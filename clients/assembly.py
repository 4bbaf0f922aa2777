"""One script of a client, its parts and a workload's body, as it is deployed.

A board gets one file: an import would cost it memory and time. The client's script in `clients/FAMILY/` brings the
board to where the workload begins. It holds functions whose places its parts take, by name, and a function `workload`
whose place the body takes, with one call `workload(..., **config)` that becomes a call of the body with those settings
that are among its parameters.
"""

from __future__ import annotations

import ast
import io
import re
import symtable
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, Ethernet
from portbench.errors import PortbenchError

_PLACE = "workload"
_CLIENT_MODULE = "portbench_client"
"""The names that a body imports from it, such as RESULT, are already in the client's script."""
_TITLE = "WORKLOAD_TITLE"
_CALL = re.compile(r"\bworkload\((.*?)\*\*config\)")

Import = tuple[str | None, str, str | None]
"""Module (None for `import name`), name, other name."""


def assemble(client: Path, parts: Mapping[str, Path], body: Path, name: str, title: str) -> str:
    """The script of workload `name`; `parts` by the function that each brings. Raises PortbenchError for files that do
    not fit together.
    """
    script = _Script(client)
    for function, path in parts.items():
        part = _Script(path)
        part.function(function)
        script = _Script(client, _filled(script, function, part))
    workload = _Script(body)
    entry = workload.function(name)
    assembled = _filled(script, _PLACE, workload)
    calls = _CALL.findall(assembled)
    if len(calls) != 1:
        raise PortbenchError(f"{client}: calls workload(..., **config) {len(calls)} times, not once")
    handed = calls[0].rstrip(", ")
    settings = [argument.arg for argument in entry.args.args[1 if handed else 0 :]]
    arguments = ", ".join([*([handed] if handed else []), *(f'config["{setting}"]' for setting in settings)])
    return _CALL.sub(lambda call: f"{name}({arguments})", assembled).replace(_TITLE, title)


def _filled(script: _Script, function: str, part: _Script) -> str:
    """`script` with the code of `part` in the place of `function`, and with the imports that it lacks before that."""
    place = script.function(function)
    _check_names(script, part, place.name)
    known = {bound for bound, _ in script.imports()}
    missing = [text for bound, text in part.imports() if bound not in known]
    code = "".join(missing) + part.code()
    return "".join(script.lines[: place.lineno - 1]) + code + "".join(script.lines[place.end_lineno :])


class _Script:
    """A Python file and its top-level names. Raises PortbenchError."""

    def __init__(self, path: Path, source: str | None = None) -> None:
        self.path = path
        try:
            self._source = path.read_text(encoding="utf-8") if source is None else source
            self._module = ast.parse(self._source)
            symbols = symtable.symtable(self._source, str(path), "exec").get_symbols()
        except (OSError, SyntaxError, ValueError) as error:
            raise PortbenchError(f"{path}: cannot be read as Python ({error})") from error
        self.lines = list(io.StringIO(self._source))
        """With their ends. The parser knows fewer ends of a line than `str.splitlines`."""
        self.names = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}

    def function(self, name: str) -> ast.FunctionDef:
        for node in self._module.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        raise PortbenchError(f"{self.path}: has no function {name!r}, which a board is to run; add it")

    def imports(self) -> list[tuple[tuple[Import, ...], str]]:
        """Each import statement except those from the client: the names that it binds, and its text."""
        found: list[tuple[tuple[Import, ...], str]] = []
        for node in self._module.body:
            if isinstance(node, ast.Import):
                bound: tuple[Import, ...] = tuple((None, alias.name, alias.asname) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module != _CLIENT_MODULE:
                bound = tuple((node.module, alias.name, alias.asname) for alias in node.names)
            else:
                continue
            found.append((bound, f"{ast.get_source_segment(self._source, node)}\n"))
        return found

    def imported(self) -> dict[str, Import]:
        """The source of each imported name."""
        return dict(_binding(each) for imported, _ in self.imports() for each in imported)

    def of_client(self) -> list[ast.alias]:
        """The names that it imports from the client."""
        taken: list[ast.alias] = []
        for node in self._module.body:
            if isinstance(node, ast.ImportFrom) and node.module == _CLIENT_MODULE:
                taken += node.names
            elif isinstance(node, ast.Import):
                taken += [alias for alias in node.names if alias.name == _CLIENT_MODULE]
        return taken

    def code(self) -> str:
        """The file without its docstring and its imports."""
        begin = 0 if ast.get_docstring(self._module) is None else 1
        code = [node for node in self._module.body[begin:] if not isinstance(node, ast.Import | ast.ImportFrom)]
        first = _first_line(code[0])
        late = (n for n in self._module.body if isinstance(n, ast.Import | ast.ImportFrom) and n.lineno >= first)
        if (node := next(late, None)) is not None:
            raise PortbenchError(f"{self.path}: line {node.lineno}: move this import before everything else")
        return "".join(self.lines[first - 1 :])


def _first_line(node: ast.stmt) -> int:
    """The line of the first decorator, or of the statement."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _check_names(script: _Script, part: _Script, place: str) -> None:
    """Check that no name has two meanings in the assembled file. The function that takes a place may have its name."""
    for alias in part.of_client():
        if alias.asname is not None or alias.name not in script.names:
            raise PortbenchError(
                f"{part.path}: imports {ast.unparse(alias)} of the client; take names that {script.path} has, as"
                f" they are: from {_CLIENT_MODULE} import RESULT"
            )
    ours, theirs = script.imported(), part.imported()
    both = {bound for bound, what in theirs.items() if ours.get(bound) == what}
    taken = (part.names & script.names) - both - {alias.name for alias in part.of_client()} - {place}
    if taken:
        raise PortbenchError(
            f"{part.path}: {min(taken)!r} is a name of {script.path} too, which is deployed with it; rename it"
        )


def _binding(imported: Import) -> tuple[str, Import]:
    """The name that an import binds, and its source: `import a.b` binds a."""
    module, name, other = imported
    if module is None and other is None:
        name = name.partition(".")[0]
    return other or name, (module, name, None)


_NAME: Final = re.compile(r"\bboard\.GP_[A-Z_]+\b|\bBOARD_[A-Z_]+\b")


def fold(source: str, definition: BoardDefinition) -> str:
    """`source` with the values of that board. Raises PortbenchError for a name without a value on the board.

    The names are `BOARD_MACHINE`, `BOARD_SPI_ID`, `BOARD_SPI_HZ`, and `BOARD_SCK_PIN`, `BOARD_MOSI_PIN` and so on for
    the GPIO numbers; CircuitPython's pins are `board.GP_SCK` and so on, which become `board.GP18`. Those of the SD card
    are `BOARD_SD_SPI_ID`, `BOARD_SD_SCK_PIN` and `board.GP_SD_SCK`.
    """
    values = _values(definition)

    def value(match: re.Match[str]) -> str:
        if match[0] not in values:
            known = ", ".join(sorted(values))
            raise PortbenchError(f"{definition.id}: has no {match[0]}, which the client asks for; there are {known}")
        return values[match[0]]

    return _NAME.sub(value, source)


def _values(definition: BoardDefinition) -> dict[str, str]:
    values = {"BOARD_MACHINE": definition.machine}
    if (card := definition.sd_card) is not None:
        values["BOARD_SD_SPI_ID"] = f"{card.spi_id}"
        for name, pin in card.pins.items():
            values[f"BOARD_SD_{name.upper()}"] = f"{pin}"
            values[f"board.GP_SD_{name.removesuffix('_pin').upper()}"] = f"board.GP{pin}"
    ethernet = definition.network
    if not isinstance(ethernet, Ethernet):
        return values
    values |= {"BOARD_SPI_ID": f"{ethernet.spi_id}", "BOARD_SPI_HZ": f"{ethernet.default_hz:_}"}
    for name, pin in ethernet.pins.items():
        values[f"BOARD_{name.upper()}"] = f"{pin}"
        values[f"board.GP_{name.removesuffix('_pin').upper()}"] = f"board.GP{pin}"
    return values
