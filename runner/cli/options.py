"""Options that several commands have in common, each declared once."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from portbench.boards import known_boards
from portbench.firmware import catalogue
from portbench.firmware.identify import IMAGE_FAMILIES
from portbench.results.storage import RESULTS_FOLDER
from portbench.runner.options import DEFAULT_BOARD, DEFAULT_RUNS, WORDS, Deployer, WhereChoice, chosen_workloads
from portbench.runner.settings import Setting, known_settings, workload_settings
from portbench.workloads import workloads

F = TypeVar("F", bound=Callable[..., Any])

SETTINGS: Final = (*WORDS, "setting")
"""The options that give settings."""
_MOST_S: Final = 86_400
_WORDS: Final = "portbench.words"


def completer(values: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Offer the values that begin so, else files."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(value) for value in values() if value.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]

    return complete


NAMES_OF_RUNTIMES: Final = completer(lambda: (entry.id for entry in catalogue.load()))


def _option(flags: str, help: str, **how: Any) -> tuple[str, dict[str, Any]]:
    return flags, {"help": help, **how}


_OPTIONS: Final = {
    "workload": _option(
        "--workload",
        "workload to measure, or all (portbench list)",
        multiple=True,
        metavar="NAME",
        shell_complete=completer(workloads),
    ),
    "runtime": _option(
        "--runtime",
        "an id, a .uf2 file, or a release, as micropython@latest",
        multiple=True,
        metavar="NAME",
        shell_complete=NAMES_OF_RUNTIMES,
    ),
    "all": _option("--all", "every runtime with every profile (default: newest of each family)", is_flag=True),
    "profile": _option("--profile", "only this profile, as tuned", multiple=True, metavar="NAME"),
    "family": _option(
        "--family",
        "how to talk to .uf2 files (default: as each file says, else foreign)",
        type=click.Choice(["auto", *map(str, IMAGE_FAMILIES)]),
        metavar="NAME",
    ),
    "library": _option(
        "--library",
        "your library: a folder, .py, .mpy or .whl",
        multiple=True,
        metavar="NAME=PATH",
    ),
    "runs": _option(
        "--runs",
        f"runs of each row (default {DEFAULT_RUNS}; 1 with -s seed=fixed)",
        type=click.IntRange(1, 1000),
        metavar="N",
    ),
    "messages": _option("--messages", "messages of a run of ping_pong, server and two_boards", metavar="N"),
    "requests": _option("--requests", "pages of a run of http, http_asyncio and http_httpserver", metavar="N"),
    "setting": _option(
        "-s --setting",
        "spi_hz=8M, or 8M,20M for a sweep (portbench list settings)",
        multiple=True,
        metavar="NAME=VALUE",
        shell_complete=completer(lambda: (f"{name}=" for name in known_settings(workloads().values()))),
    ),
    "board": _option(
        "--board",
        f"kind of board (default {DEFAULT_BOARD}, or that of --runtime)",
        metavar="NAME",
        shell_complete=completer(known_boards),
    ),
    "where": _option(
        "--where",
        "auto (USB, else emulated), silicon, emulated or hosted",
        type=click.Choice(get_args(WhereChoice)),
        metavar="WHERE",
    ),
    "device": _option(
        "--device",
        "auto, id:SERIAL, port:PATH, usb:PLACE, labgrid:PLACE or URL",
        multiple=True,
        metavar="DEVICE",
    ),
    "partner_device": _option("--partner-device", "the partner of a real board", metavar="DEVICE"),
    "parallel": _option(
        "--parallel",
        "boards at once (default: one a core if emulated, else 1)",
        type=click.IntRange(1, 64),
        metavar="N",
    ),
    "deployer": _option(
        "--deploy deployer",
        "how files get to MicroPython: mpremote (default) or rshell",
        type=click.Choice(get_args(Deployer)),
        metavar="TOOL",
    ),
    "required": _option(
        "--require required",
        "fail where rows of this runtime, or of all, are skipped",
        multiple=True,
        metavar="RUNTIME",
    ),
    "attribute": _option("--attribute", "store the time of emulated rows by cause", is_flag=True),
    "layouts": _option(
        "--layouts",
        "run emulated rows in N more layouts of the flash, too",
        type=click.IntRange(2, 1000),
        metavar="N",
    ),
    "what_if": _option("--what-if", "store the gain of each single change", is_flag=True),
    "name": _option("--name", "name of this run, which compare and --baseline find it by", metavar="NAME"),
    "results_dir": _option(
        "--results-dir",
        f"folder of rows and logs (default: {RESULTS_FOLDER})",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        default=RESULTS_FOLDER,
    ),
}


def bench_option(name: str, **changes: Any) -> Callable[[F], F]:
    """Add one option, with `changes`: `multiple=False` for a command that takes one value."""
    flags, usual = _OPTIONS[name]
    how = usual | changes
    if how.get("multiple"):
        how["help"] += "; repeatable"
    return click.option(*flags.split(), **how)


def bench_options(*names: str) -> Callable[[F], F]:
    """Add the options of these names, or all."""

    def add(command: F) -> F:
        for name in reversed(names or tuple(_OPTIONS)):
            command = bench_option(name)(command)
        return command

    return add


SECTIONS: Final = {
    "What": ("workload", "runtime", "all", "profile", "family", "library", "runs", *SETTINGS),
    "Where": ("board", "where", "device", "partner_device", "parallel", "on"),
    "How": ("deployer", "required", "attribute", "layouts", "what_if", "baseline", "fail_if_slower", "dry_run"),
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
    named = [after for word, after in pairwise(words) if word == "--workload"]
    named += [word.removeprefix("--workload=") for word in words if word.startswith("--workload=")]
    return [each for each in dict.fromkeys(named) if each in workloads()]


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic from 8.5 on
    """A time limit: more than 0 and at most a day, so neither `nan` nor `inf`."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= _MOST_S:
            self.fail(f"{value!r} is not a number of seconds, more than 0 and up to {_MOST_S}", param, ctx)
        return seconds
