"""A folder's constants, and the defaults of its functions and classes, as text that a test compares to the letter.

After a wanted change the test writes them anew with PORTBENCH_OUTPUTS=1; then read the difference.
"""

import ast
import dataclasses
import importlib
import inspect
import os
import pkgutil
import re
import struct
from collections.abc import Iterator, Mapping, Set
from enum import Enum
from pathlib import Path
from pprint import pformat
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter


def assert_as_read(package: ModuleType, file: Path) -> None:
    """Compare all that the modules of `package` declare with `file`."""
    text = ""
    for name in sorted(each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")):
        module = importlib.import_module(name)
        names = (each for statement in ast.parse(inspect.getsource(module)).body for each in _named(statement))
        lines = [f"  {line}\n" for each in names for line in _declared(each, inspect.unwrap(vars(module)[each]))]
        text += "".join([f"{name.removeprefix('portbench.')}\n", *lines] if lines else [])
    if os.environ.get("PORTBENCH_OUTPUTS"):
        file.write_text(text, encoding="utf-8", newline="")
    assert text == file.read_bytes().decode()


def _named(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    targets = getattr(statement, "targets", [getattr(statement, "target", ast.Pass())])
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def _declared(name: str, value: Any) -> Iterator[str]:
    """Lines of one name; none of a type, which mypy knows."""
    if inspect.isclass(value):
        usual = {"frozen": False, "eq": True, "order": False}
        options = getattr(value, "__dataclass_params__", SimpleNamespace(**usual))
        told = "".join(f" {option}" for option, is_ in usual.items() if getattr(options, option, is_) != is_)
        lines = [f"  {line}" for line in _class(value)]
        yield from [f"{name}{told}", *lines] if lines else []
    elif inspect.isfunction(value):
        given = inspect.signature(value).parameters.values()
        if defaults := [f"{each.name}={_plain(each.default)!r}" for each in given if each.default is not each.empty]:
            yield f"{name}({', '.join(defaults)})"
    elif get_origin(value) in (None, Literal) and type(value).__module__ != "typing":
        yield from f"{name} = {pformat(_plain(value), width=110, compact=True, sort_dicts=False)}".splitlines()


def _class(cls: type) -> Iterator[str]:
    is_data = dataclasses.is_dataclass(cls)
    if issubclass(cls, BaseModel):
        yield f"{cls.model_config}"
        yield from (f"{name} = {told}" for name, told in _plain(TypeAdapter(cls)).items())
    elif issubclass(cls, Enum):
        yield from (f"{each.name} = {each.value!r}" for each in cls)
    for each in dataclasses.fields(cls) if is_data else ():
        made = each.default if each.default_factory is dataclasses.MISSING else each.default_factory
        yield from [] if made is dataclasses.MISSING else [f"{each.name} = {_plain(made)!r}"]
    for name, value in list(vars(cls).items()):
        value = getattr(value, "__func__", value)
        if inspect.isfunction(value) and (not name.startswith("__") or (name == "__init__" and not is_data)):
            yield from _declared(name, value)
        elif isinstance(value, bool | int | float) and not (is_data or name.startswith("_")):
            yield f"{name} = {value}"


class _Bare(str):
    """A text without quotes."""

    __repr__ = str.__str__


def _plain(value: Any) -> Any:
    """The value in words that are the same with every Python."""
    match value:
        case Enum():
            return _Bare(value)
        case None | str() | bytes() | int() | float():
            return value
        case Mapping():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return type(value)(map(_plain, value))
        case Set():
            return _Bare(f"{{{', '.join(sorted(repr(_plain(each)) for each in value))}}}")
        case Path():
            return _Bare(f"Path {value.as_posix().removeprefix(_CHECKOUT)}")
        case re.Pattern():
            return _Bare(f"re {value.pattern!r} {value.flags}")
        case struct.Struct():
            return _Bare(value.format)
        case TypeAdapter():
            found = value.json_schema()
            needed = {name: {"required": True} for name in found.get("required", ())}
            told = {name: {**each, **needed.get(name, {})} for name, each in found["properties"].items()}
            return {name: {key: each[key] for key in each if key != "title"} for name, each in told.items()}
    if get_origin(value) is Literal:
        return get_args(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain([getattr(value, each.name) for each in dataclasses.fields(value)])
    if inspect.isfunction(value) and (kept := inspect.getclosurevars(value).nonlocals):
        return _plain(kept)
    return _Bare(getattr(value, "__name__", type(value).__name__))


_CHECKOUT = Path(__file__).parents[1].as_posix()
