"""Show runtimes and their images, profiles, workloads and kinds of boards.

Downloads nothing. A profile is shown as its line of code.
"""

import json
from collections.abc import Iterable
from functools import partial
from textwrap import fill as fill_lines
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from portbench.console import COLUMNS, console, plain_table
from portbench.firmware import FOLDER_VARIABLE
from portbench.runner.inventory import inventory

_INDENT = "    "
# Break only between words, so that code stays intact.
fill = partial(fill_lines, break_long_words=False, break_on_hyphens=False)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(as_json: bool) -> None:
    found = inventory()
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    out = console()
    show_runtimes(out, found["runtimes"])
    out.print()
    show_workloads(out, found)
    out.print()
    boards = ((each["id"], each["title"], each["network"] or "none") for each in found["boards"])
    out.print(plain_table("Boards", ("board", "what", "network"), boards, ("what",)))


def show_runtimes(out: Console, runtimes: list[dict[str, Any]]) -> None:
    """Runtimes with their images, then the line of code of each profile."""
    versions = ("version",) if out.width >= COLUMNS else ()  # most names have it
    columns = ("runtime", "family", "board", *versions, "image")
    rows = ([each[heading] or "-" for heading in ("id", *columns[1:])] for each in runtimes)
    out.print(plain_table("Runtimes", columns, rows, folding=versions or ("runtime",)))
    if any(each["image"] == "missing" for each in runtimes):
        out.print(
            f"[dim]missing: `portbench run` downloads it, or takes it from the folder in {FOLDER_VARIABLE};"
            " `portbench list --json` has the command that provides it[/dim]"
        )
    out.print()
    out.print("[bold]Profiles[/bold]")
    for title, line in _profiles(runtimes):
        out.print(Text(fill(f"{title}:", out.width)))
        out.print(Text(fill(line, out.width, initial_indent=_INDENT, subsequent_indent=_INDENT)))


def show_workloads(out: Console, found: dict[str, list[dict[str, Any]]]) -> None:
    """Workloads with their settings, then the runtimes that cannot run them."""
    columns = ("workload, with its settings", "measures, or default", "range")
    out.print(plain_table("Workloads", columns, _settings(found["workloads"]), folding=columns[1:]))
    for line in _not_run(found):
        out.print(Text(fill(line, out.width)))


def _not_run(found: dict[str, list[dict[str, Any]]]) -> Iterable[str]:
    """Kinds of firmware that cannot, or alone can run workloads, as board and family; workloads with the same ones
    together."""
    together: dict[str, list[str]] = {}
    kinds = dict.fromkeys(map(_kind, found["runtimes"]))
    for workload in found["workloads"]:
        runs = {_kind(each) for each in found["runtimes"] if workload["name"] in each["workloads"]}
        if kinds.keys() != runs:
            those, others = (_by_board(each for each in kinds if (each in runs) is which) for which in (True, False))
            said = min(f"only on {'; '.join(those)}", f"not on {'; '.join(others)}", key=len)
            together.setdefault(said, []).append(workload["name"])
    for said, names in together.items():
        yield f"{', '.join(names)}: {said}"


def _kind(runtime: dict[str, Any]) -> tuple[str, str]:
    return runtime["board"], runtime["id"] if runtime["family"] == "hosted" else runtime["family"]


def _by_board(kinds: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """`micropython of RPI_PICO, RPI_PICO2`: boards without the same families together."""
    families: dict[str, list[str]] = {}
    for board, family in kinds:
        families.setdefault(board, []).append(family)
    boards: dict[str, list[str]] = {}
    for board, of in families.items():
        boards.setdefault(", ".join(of) if board == "host" else " and ".join(of), []).append(board)
    return tuple(of if each == ["host"] else f"{of} of {', '.join(each)}" for of, each in boards.items())


def _profiles(runtimes: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """Each profile with its runtimes and its line; runtimes with the same line share an entry."""
    together: dict[tuple[str, str], list[str]] = {}
    for runtime in runtimes:
        for profile in runtime["profiles"]:
            line = profile["line"] or "nothing: no network, or this PC's own"
            together.setdefault((profile["name"], line), []).append(runtime["id"])
    for (name, line), of in together.items():
        yield f"{name} of {', '.join(of)}", line


def _settings(workloads: Iterable[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for workload in workloads:
        yield workload["name"] + (" (default)" if workload["by_default"] else ""), workload["headline"]["unit"], ""
        for setting in workload["settings"]:
            default = setting.get("default")
            yield f"  {setting['name']}", "-" if default is None else str(default), _range(setting)


def _range(setting: dict[str, Any]) -> str:
    if "choices" in setting:
        return ", ".join(map(str, setting["choices"]))
    low, high = setting.get("minimum"), setting.get("maximum")
    return "" if low is None and high is None else f"{'' if low is None else low} to {'' if high is None else high}"
