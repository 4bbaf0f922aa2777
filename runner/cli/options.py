"""The options of `runner.options` for click."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from portbench.boards import known_boards
from portbench.firmware import catalogue
from portbench.results.storage import LATEST, RESULTS_FOLDER
from portbench.runner.options import OPTIONS, WORDS, chosen_workloads
from portbench.runner.settings import Setting, known_settings, workload_settings
from portbench.workloads import workloads

F = TypeVar("F", bound=Callable[..., Any])

_BY_NAME: Final = {option.name: option for option in OPTIONS}
SETTINGS: Final = (*WORDS, "setting")
"""The options that give settings."""
_MOST_S: Final = 86_400
_WORDS: Final = "portbench.words"
_VALUES: Final[dict[str, Callable[[], Iterable[str]]]] = {
    "board": known_boards,
    "runtime": lambda: (entry.id for entry in catalogue.load()),
    "setting": lambda: (f"{name}=" for name in known_settings(workloads().values())),
    "workload": workloads,
}
"""What the shell offers for an option without fixed choices."""


def completer(name: str, choices: Iterable[str] = ()) -> Callable[..., list[CompletionItem]]:
    """Offer the option's values that begin so, else files."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        values = choices or _VALUES.get(name, tuple)()
        found = [CompletionItem(value) for value in values if value.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]

    return complete


def bench_options(*names: str, single: bool = False) -> Callable[[F], F]:
    """Add the options of these names, or all. `single`: only `--setting` is repeatable."""

    def add(command: F) -> F:
        for name in reversed(names or _BY_NAME):
            command = bench_option(name, single=single and name != "setting")(command)
        return command

    return add


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, as `runner.options.read_options` takes them."""
    found = {name: value for name, value in values.items() if name in _BY_NAME and value not in (None, (), False)}
    return {
        name: [value] if _BY_NAME[name].repeatable and isinstance(value, str) else value
        for name, value in found.items()
    }


def bench_option(name: str, *, single: bool = False, **changes: Any) -> Callable[[F], F]:
    """Add one option of the bench, with `changes`; `single`: it is not repeatable."""
    option = _BY_NAME[name]
    flags = (option.flag,) if option.short is None else (option.short, option.flag)
    how: dict[str, Any] = {"help": option.help, "is_flag": True}
    if not option.is_flag:
        multiple = option.repeatable and not single
        how = {
            "help": f"{option.help}; repeatable" if multiple else option.help,
            "multiple": multiple,
            "metavar": option.metavar,
            "shell_complete": completer(name, option.choices),
        }
    return click.option(*flags, option.name, **{**how, **changes})


SECTIONS: Final = {
    "What": ("workload", "runtime", "all", "profile", "family", "runs", *SETTINGS),
    "Where": ("board", "where", "device", "partner_device", "parallel", "on"),
    "How": ("deploy", "require", "attribute", "what_if", "baseline", "fail_if_slower", "dry_run"),
}
"""Sections in the help of a verb with many options; other options are in the last section."""


class Sectioned(click.Command):
    """A command whose help has its options in sections, and the settings of each `--workload` that is given."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta[_WORDS] = list(args)  # --help is read before the options around it
        return super().parse_args(context, args)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        left = [(each.name, each.get_help_record(context)) for each in self.get_params(context)]
        for title, names in {**SECTIONS, "Output": [name for name, _ in left]}.items():
            lines = [record for name, record in left if name in names and record is not None]
            left = [(name, record) for name, record in left if name not in names]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)
        for workload in _named_workloads(context.meta.get(_WORDS, ())):
            with formatter.section(f"Settings of {workload}, as -s NAME=VALUE"):
                own = workload_settings(chosen_workloads([workload])).values()
                formatter.write_dl([(each.name, _with_default(each)) for each in own])


def _with_default(setting: Setting) -> str:
    return setting.help if setting.default is None else f"{setting.help} (default {setting.default})"


def _named_workloads(words: Sequence[str]) -> list[str]:
    """The values of `--workload` among the words of a command line; `all` names none."""
    flag = _BY_NAME["workload"].flag
    named = [after for word, after in pairwise(words) if word == flag]
    named += [word.removeprefix(f"{flag}=") for word in words if word.startswith(f"{flag}=")]
    return [each for each in dict.fromkeys(named) if each in workloads()]


def run_file(file: str | None, results_dir: str | None) -> Path:
    """The named run file; without a name or for `latest`, the newest in the results' folder."""
    if file is None or file == "latest":
        return Path(results_dir or RESULTS_FOLDER) / LATEST
    return Path(file)


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic from 8.5 on
    """A time limit: more than 0 and at most a day, so neither `nan` nor `inf`."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= _MOST_S:
            self.fail(f"{value!r} is no number of seconds, more than 0 and up to {_MOST_S}", param, ctx)
        return seconds
