"""One script of a client and a workload's body, as it is deployed.

A board gets one file: an import would cost it memory and time. The client's script in `clients/FAMILY/` brings the
board to where the workload begins; it holds a function `workload` whose place the body takes, and one call
`workload(..., **config)` that becomes a call of the body with those settings that are among its parameters.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from portbench.clients.errors import DeploymentError

_PLACE = "workload"
_CLIENT_MODULE = "portbench_client"
"""What a body imports from it, such as RESULT, the client's script has already."""
_TITLE = "WORKLOAD_TITLE"
_CALL = re.compile(r"\bworkload\((.*?)\*\*config\)")

Import = tuple[str | None, str, str | None]
"""Module (None for `import name`), name, other name."""


def assemble(client: Path, body: Path, name: str, title: str) -> str:
    """The script of workload `name`. Raises DeploymentError for files that do not fit together."""
    source, script = _parsed(client)
    given, workload = _parsed(body)
    entry = _function(workload, name, body)
    place = _function(script, _PLACE, client)
    lines = source.splitlines(keepends=True)
    known = {bound for bound, _ in _imports(script, source)}
    missing = [text for bound, text in _imports(workload, given) if bound not in known]
    code = "".join(missing) + _code(workload, given)
    assembled = "".join(lines[: place.lineno - 1]) + code + "".join(lines[place.end_lineno :])
    calls = _CALL.findall(assembled)
    if len(calls) != 1:
        raise DeploymentError(f"{client}: calls workload(..., **config) {len(calls)} times, not once")
    handed = calls[0].rstrip(", ")
    settings = [argument.arg for argument in entry.args.args[1 if handed else 0 :]]
    arguments = ", ".join([*([handed] if handed else []), *(f'config["{setting}"]' for setting in settings)])
    return _CALL.sub(lambda call: f"{name}({arguments})", assembled).replace(_TITLE, title)


def _parsed(path: Path) -> tuple[str, ast.Module]:
    try:
        source = path.read_text(encoding="utf-8")
        return source, ast.parse(source)
    except (OSError, SyntaxError, ValueError) as error:
        raise DeploymentError(f"{path}: cannot be read as Python ({error})") from error


def _function(module: ast.Module, name: str, path: Path) -> ast.FunctionDef:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise DeploymentError(f"{path}: has no function {name!r}, which a board is to run; add it")


def _imports(module: ast.Module, source: str) -> list[tuple[tuple[Import, ...], str]]:
    """Each import statement of the module, as what it binds and as text."""
    found: list[tuple[tuple[Import, ...], str]] = []
    for node in module.body:
        if isinstance(node, ast.Import):
            bound: tuple[Import, ...] = tuple((None, alias.name, alias.asname) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module != _CLIENT_MODULE:
            bound = tuple((node.module, alias.name, alias.asname) for alias in node.names)
        else:
            continue
        found.append((bound, f"{ast.get_source_segment(source, node)}\n"))
    return found


def _code(module: ast.Module, source: str) -> str:
    """The module without its docstring and its imports."""
    begin = 0 if ast.get_docstring(module) is None else 1
    code = [node for node in module.body[begin:] if not isinstance(node, ast.Import | ast.ImportFrom)]
    return "".join(source.splitlines(keepends=True)[code[0].lineno - 1 :])
