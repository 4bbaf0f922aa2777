"""Two runs on different kinds of boards side by side, by the family of the firmware."""

from dataclasses import dataclass
from typing import Any, Final

from portbench.results.cells import escape, markdown_table, workload_title
from portbench.results.model import Row, RunFile, Status
from portbench.results.stats import Group, group_rows

_DIGITS: Final = 4


@dataclass(frozen=True)
class Beside:
    """The best rows of one family in one workload, with the same settings; None: not measured."""

    workload: str
    family: str
    unit: str
    one: Group | None
    other: Group | None
    reasons: tuple[str, str]
    """The reason for each that was not measured."""

    @property
    def times(self) -> float | None:
        """Ratio of `other` to this, above 1 if better; None where either is missing."""
        return None if self.one is None or self.other is None else self.other.times(self.one)


def beside(one: RunFile, other: RunFile) -> list[Beside]:
    """The families that both runs have, in the order of `one`. Versions may differ."""
    found = []
    asked = dict.fromkeys((row.workload, row.family, row.where, row.timed_by) for row in one.rows)
    theirs = {(row.workload, row.family, row.where, row.timed_by) for row in other.rows}
    for key in asked:
        if key not in theirs:
            continue
        name, family, where, timed_by = key
        groups = [
            [each for each in group_rows(run.rows, name, where, timed_by) if each.first.family == family]
            for run in (one, other)
        ]
        mine, yours = _alike(*groups)
        rows = [[row for row in run.rows if (row.workload, row.family) == (name, family)] for run in (one, other)]
        unit = next((each.headline.unit for each in (mine, yours) if each is not None), "")
        found.append(Beside(name, family, unit, mine, yours, (_reason(rows[0]), _reason(rows[1]))))
    return found


def _alike(ours: list[Group], theirs: list[Group]) -> tuple[Group | None, Group | None]:
    """The best of each with the same settings; else the best of one run, with None for the other."""
    for one in ours:
        same = [each for each in theirs if each.first.settings == one.first.settings]
        if same:
            return one, same[0]
    # Rows with different settings cannot be compared.
    return (ours[0], None) if ours else (None, theirs[0] if theirs else None)


def _reason(rows: list[Row]) -> str:
    return next((str(row.reason) for row in rows if row.status is not Status.MEASURED and row.reason), "other settings")


def _lines(found: list[Beside]) -> list[list[str]]:
    return [
        [
            workload_title(each.workload),
            each.family,
            _cell(each.one),
            _cell(each.other),
            each.unit,
            "" if each.times is None else _factor(each.times),
        ]
        for each in found
    ]


def _columns(one: RunFile, other: RunFile) -> list[str]:
    names = [", ".join(sorted({str(row.board) for row in run.rows if row.board})) or "-" for run in (one, other)]
    return ["workload", "family", *names, "", "times"]


def markdown(one: RunFile, other: RunFile) -> str:
    """Return Markdown for GitHub and terminals: the table, and the reasons for missing rows."""
    found, head = beside(one, other), _columns(one, other)
    text = markdown_table(head, _lines(found)) + "\n"
    missing = [
        escape(f"- {workload_title(each.workload)}, {each.family}, {board}: {reason}") + "\n"
        for each in found
        for group, reason, board in zip((each.one, each.other), each.reasons, head[2:4], strict=True)
        if group is None
    ]
    return text + ("\n" + "".join(missing) if missing else "")


def as_data(one: RunFile, other: RunFile) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "workload": each.workload,
            "family": each.family,
            "unit": each.unit,
            "rows": [_data(each.one, each.reasons[0]), _data(each.other, each.reasons[1])],
            "times": each.times,
        }
        for each in beside(one, other)
    ]


def _data(group: Group | None, reason: str) -> dict[str, Any]:
    if group is None:
        return {"reason": reason}
    row = group.first
    value = group.value.median
    return {"board": row.board, "runtime": row.runtime, "version": row.version, "profile": row.profile, "value": value}


def _factor(times: float) -> str:
    if 0.1 <= times < 10:
        return f"{times:.2f}"
    return f"{times:.2g}" if times < 0.1 else f"{times:.3g}"


def _cell(group: Group | None) -> str:
    if group is None:
        return "-"
    row = group.first
    about = " ".join(filter(None, [row.version, row.profile]))
    return f"{group.value.median:.{_DIGITS}g} ({about})"
