"""The bench's options as click's: `runner.options` says what there is and checks what was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from portbench.errors import OptionError
from portbench.results.storage import LATEST, RESULTS_FOLDER
from portbench.runner.cli.completion import completer
from portbench.runner.options import OPTIONS, Option, workload_options

F = TypeVar("F", bound=Callable[..., Any])

_BY_NAME: Final = {option.name: option for option in OPTIONS}


def bench_options(*names: str, single: bool = False) -> Callable[[F], F]:
    """The options of these names, of all where none is named, and one for each setting of a workload.

    `single`: none is repeatable here.
    """

    def add(command: F) -> F:
        chosen = [_BY_NAME[name] for name in names] or list(OPTIONS)
        for option in reversed([*chosen, *_workloads_own()]):
            command = click.option(option.flag, option.name, **_as_click(option, single))(command)
        return command

    return add


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as `runner.options.read_options` takes it."""
    known = {option.name: option for option in (*OPTIONS, *_workloads_own())}
    found = {name: value for name, value in values.items() if name in known and value not in (None, (), False)}
    return {
        name: [value] if known[name].repeatable and isinstance(value, str) else value for name, value in found.items()
    }


def as_arguments(values: Mapping[str, Any]) -> list[str]:
    """The same for a command line. With `=`: pytest takes a path that stands alone as the place of its own files."""
    arguments = []
    for option in (*OPTIONS, *_workloads_own()):
        value = values.get(option.name)
        if option.is_flag:
            arguments += [option.flag] if value else []
        elif value is not None:
            arguments += [f"{option.flag}={each}" for each in (value if option.repeatable else [value])]
    return arguments


def bench_option(name: str, *, single: bool = False, **changes: Any) -> Callable[[F], F]:
    """One option of the bench, with what is different here; `single`: it is given once, not repeated."""
    option = _BY_NAME[name]
    return click.option(option.flag, option.name, **{**_as_click(option, single), **changes})


def run_file(file: str | None, results_dir: str | None) -> Path:
    """The run file that a person means: `latest` or nothing is the newest of the results' folder."""
    if file is None or file == "latest":
        return Path(results_dir or RESULTS_FOLDER) / LATEST
    return Path(file)


def _as_click(option: Option, single: bool) -> dict[str, Any]:
    if option.is_flag:
        return {"is_flag": True, "help": option.help}
    return {
        "multiple": option.repeatable and not single,
        "metavar": option.metavar or "VALUE",
        "help": option.help,
        "shell_complete": completer(option),
    }


def _workloads_own() -> tuple[Option, ...]:
    try:
        return workload_options()
    except OptionError as error:
        raise click.ClickException(str(error)) from None
