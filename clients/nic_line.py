"""The line of code with which a client brings its network up, with a profile's settings, for users to copy.

`make_nic` of the client's part runs with stand-ins, which record how they are called.
"""

from __future__ import annotations

import ast
import json
import re
from types import SimpleNamespace
from typing import Any, ClassVar, Final

from portbench.boards import BoardDefinition
from portbench.clients.assembly import fold
from portbench.clients.dialects import adapted
from portbench.clients.families import FAMILIES
from portbench.errors import PortbenchError
from portbench.workloads import Readiness

_FUNCTION: Final = "make_nic"
_POWER_SAVE: Final = re.compile(r"\bpm=|power_management")


class _Written:
    """Source code that acts as an object: using it makes more source code. Keeps `calls` in their order."""

    calls: ClassVar[list[str]] = []

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __call__(self, *values: Any, **named: Any) -> _Written:
        arguments = [_shown(value) for value in values]
        arguments += [f"{name}={_shown(value)}" for name, value in named.items()]
        call = f"{self._text}({', '.join(arguments)})"
        self.calls.append(call)
        return _Written(call)

    def __getattr__(self, name: str) -> _Written:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Written(f"{self._text}.{name}")


def nic_line(
    family: str,
    board: BoardDefinition,
    *,
    spi_hz: int | None,
    intn: bool,
    power_save: bool | None = None,
    version: str = "",
) -> str | None:
    """The line by which the client of `family` gets the network interface of `board`; None where it brings none up.

    Raises PortbenchError for a client that cannot be read, and for a board without a network.
    """
    parts = FAMILIES[family].parts(Readiness.CONNECTED, board)
    if "get_address" not in parts:
        return None
    path = parts["get_address"]
    try:
        module = ast.parse(adapted(fold(path.read_text(encoding="utf-8"), board), family, version))
    except (OSError, SyntaxError, ValueError) as error:
        raise PortbenchError(f"{path}: cannot be read as Python ({error})") from error
    wanted: list[ast.stmt] = [
        node
        for node in module.body
        if (isinstance(node, ast.FunctionDef) and node.name == _FUNCTION)
        or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant))
    ]
    names: dict[str, Any] = {name: _Written(name) for name in _imported(module)}
    names |= {"RESULT": {}, "time": SimpleNamespace(sleep=lambda seconds: None), "LWIP": family != "wiznet"}
    exec(compile(ast.Module(wanted, []), str(path), "exec"), names)
    _Written.calls.clear()
    line = repr(names[_FUNCTION]({"spi_hz": spi_hz, "intn": intn, "power_save": power_save}))
    # The call that sets the power save stands for the profile: nothing else differs.
    return next((call for call in _Written.calls if _POWER_SAVE.search(call)), line)


def _imported(module: ast.Module) -> set[str]:
    imports = (node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))
    return {alias.asname or alias.name for node in imports for alias in node.names}


def _shown(value: Any) -> str:
    """Numbers and texts as the clients write them."""
    if isinstance(value, str):
        return json.dumps(value)
    return f"{value:_}" if isinstance(value, int) and not isinstance(value, bool) else repr(value)
