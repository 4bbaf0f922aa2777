"""A workload's rows as a matrix: runtimes down the side, the values of one of its settings across."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from portbench.results.cells import figure
from portbench.results.stats import Group

NOTHING: Final = "-"


def crossed(groups: Iterable[Group], setting: str) -> list[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """For each profile, and settings that differ otherwise: its title, the columns, and the lines; only where there is
    more than one value across or down."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    across: dict[str, None] = {}
    for group in groups:
        row = group.first
        others = [f"{name} {value}" for name, value in row.settings.items() if name != setting]
        address = row.conditions.address_mode
        kind = ", ".join(
            [*([row.profile] if row.profile else []), *others, *([f"address {address}"] if address else [])]
        )
        value = str(row.settings.get(setting, NOTHING))
        across[value] = None
        lines = tables.setdefault(kind, {})
        lines.setdefault(row.runtime, {})[value] = figure(group.value.median)
    made = []
    for kind, lines in tables.items():
        columns = sorted(value for value in across if any(value in line for line in lines.values()))
        if len(columns) < 2 and len(lines) < 2:
            continue
        body = tuple((name, *(lines[name].get(value, NOTHING) for value in columns)) for name in sorted(lines))
        made.append((kind, tuple(columns), body))
    return made
