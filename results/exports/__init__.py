"""Formats of other tools, each a file of this folder, which makes the tool's files of a run's table of figures."""

import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.results.model import Headline, RunFile
from portbench.results.stats import Group, known_workload
from portbench.results.table import panels


@dataclass(frozen=True)
class Figure:
    """A line of the table: one figure of a row, with a value for each run. No other row has the text `row`."""

    row: str
    metric: Headline
    values: tuple[float, ...]
    group: Group

    @property
    def name(self) -> str:
        return f"{self.row} {self.metric.name}"


def formats() -> list[str]:
    """The names of the formats."""
    return sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[a-z]*.py"))


def exported(run: RunFile, name: str) -> dict[str, str]:
    """The files of a format, by their paths. Raises StorageError."""
    made = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").files(run, table(run))
    return {path: json.dumps(document, indent=1) + "\n" for path, document in made.items()}


def table(run: RunFile) -> list[Figure]:
    """The headline of each row, then its workload's parts."""
    groups = [group for panel in panels(run) for group in panel.groups]
    return [figure for row, group in zip(_names(groups), groups, strict=True) for figure in _figures(row, group)]


def _figures(row: str, group: Group) -> Iterator[Figure]:
    known, headline = known_workload(group.first.workload), group.headline
    for name in (headline.name, *(known.parts if known else ())):
        if values := tuple(each.figures[name] for each in group.rows if each.figures.get(name, 0) > 0):
            yield Figure(row, headline.model_copy(update={"name": name}), values, group)


def _names(groups: Sequence[Group]) -> list[str]:
    """The workload, firmware and board of each, and the facts in which rows of one such name differ."""
    names, facts = [], []
    for row in (group.first for group in groups):
        clock = None if row.timed_by == "board" else "timed by the PC"
        names.append(" ".join(filter(None, (row.workload, row.name, row.board, row.where, clock))))
        image = {"build": row.build, "version": row.version, "image": (row.image_sha256 or "")[:8]}
        facts.append(image | row.settings | row.conditions.model_dump(exclude_none=True))
    found = []
    for name, own in zip(names, facts, strict=True):
        alike = [each for other, each in zip(names, facts, strict=True) if other == name]
        differing = [key for key in own if len({str(each.get(key)) for each in alike}) > 1]
        found.append(", ".join([name, *(f"{key}={own[key]}" for key in differing)]))
    return found
