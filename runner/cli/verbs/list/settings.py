"""Show the settings that -s NAME=VALUE changes, with defaults.

A sweep of `portbench run` takes several values: A,B,C, or a range, 1M..32M*2 or 0..1000+250.
"""

import json
from collections.abc import Sequence

import click

from portbench.console import console, plain_table
from portbench.runner.cli.options import bench_option
from portbench.runner.options import chosen_workloads
from portbench.runner.settings import Setting, common_settings, workload_settings

_ABSENT = "-"


@click.command()
@bench_option("workload")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(workload: tuple[str, ...], as_json: bool) -> None:
    own = workload_settings(chosen_workloads(workload or ("all",)))
    found = [*own.values(), *common_settings().values()]
    if as_json:
        click.echo(json.dumps([_as_data(each) for each in found], indent=1))
        return
    lines = [
        _line(name, [each for each in found if each.name == name]) for name in dict.fromkeys(e.name for e in found)
    ]
    table = plain_table("Settings", ("setting", "default", "workloads", "meaning"), lines, ("workloads", "meaning"))
    console().print(table)


def _line(name: str, settings: Sequence[Setting]) -> tuple[str, str, str, str]:
    """One line for the settings of a name, which workloads and profiles may share."""
    defaults = dict.fromkeys(_shown(each.default) for each in settings)
    of = [", ".join(each.workloads) or ("all" if len(settings) == 1 else "others") for each in settings]
    return name, "; ".join(defaults), "; ".join(of), "; ".join(each.help for each in settings)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return _ABSENT if default is None else str(default)


def _as_data(setting: Setting) -> dict[str, object]:
    return {
        "name": setting.name,
        "default": setting.default,
        "part": setting.part,
        "workloads": list(setting.workloads),
        "choices": list(setting.choices),
        "meaning": setting.help,
    }
