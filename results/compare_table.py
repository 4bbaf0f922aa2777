"""A comparison for people: its lines, why rows differ, and how much of a difference is code and how much layout.

The cells are the same for a terminal and, as Markdown, for a page or the summary of a job.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from portbench.results.cells import escape, figure, markdown_table
from portbench.results.compare import Basis, Comparison
from portbench.results.compare_why import MISS_COLUMNS, WHY_COLUMNS, reasons, why
from portbench.results.layout import Split
from portbench.results.model import Row
from portbench.results.run_perfbench import differences

COLUMNS: Final = ("row", "A", "B", "unit", "time", "interval", "by", "verdict")
LAYOUT_COLUMNS: Final = ("figure", "time", "code", "interval", "layout", "no misses", "A varies", "B varies")
USUAL_LIMIT: Final = 0.02
"""The limit where the user gives none."""
HINT: Final = "why: measure both with --attribute, and compare them again"


def lines(comparisons: Sequence[Comparison], limit: float | None) -> list[tuple[str, ...]]:
    """A line for each row; `limit`: the share by which it may be slower."""
    return [_line(each, limit) for each in comparisons]


def markdown(comparisons: Sequence[Comparison], limit: float | None, *, times: bool = False) -> str:
    """The comparison as Markdown for GitHub. `times`: of perf_bench the times, not the scores."""
    text = markdown_table(COLUMNS, lines(comparisons, limit)) + "\n"
    for reason in reasons(comparisons):
        said = "".join(f"- {escape(sentence)}\n" for sentence in reason.sentences)
        text += f"\nWhy, {escape(reason.row)}:\n\n{said}\n{markdown_table(WHY_COLUMNS, reason.lines)}\n"
        if reason.misses:
            text += f"\n{markdown_table(MISS_COLUMNS, reason.miss_lines)}\n"
    divided = layouts(comparisons)
    text += "".join(f"\n{escape(each.title)}\n" for each in divided)
    if told := differences(comparisons, times=times):
        text += f"\n```text\n{told}```\n"
    for each in divided:
        text += f"\nCode and layout, {escape(each.row)}:\n\n{markdown_table(LAYOUT_COLUMNS, each.lines)}\n"
    if (caution := library_caution(comparisons)) is not None:
        text += f"\n{caution}\n"
    return text


def as_data(comparisons: Sequence[Comparison], limit: float | None) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "workload": each.before.first.workload,
            "where": str(each.before.first.where),
            "board": each.before.first.board,
            "profile": each.before.first.profile,
            "runtime": [each.before.first.runtime, each.after.first.runtime],
            "libraries": [each.before.first.libraries, each.after.first.libraries],
            "image_sha256": [each.before.first.image_sha256, each.after.first.image_sha256],
            "figure": each.before.headline.name,
            "values": [[row.value for row in group.rows] for group in (each.before, each.after)],
            "slower": each.slower,
            "judged": each.judged,
            "interval": [each.low, each.high],
            "basis": str(each.basis),
            "p": each.p,
            "differs": each.differs,
            "too_few": each.too_few,
            "too_slow": limit is not None and each.is_slower_than(limit),
            "why": None if (found := why(each)) is None else found.as_data(),
            "layouts": [asdict(one) | {"layout": one.layout, "is_code": one.is_code} for one in each.splits],
        }
        for each in comparisons
    ]


def share(value: float) -> str:
    """`+4.2 %`, with enough digits that a difference never looks like none."""
    if value == 0:
        return "0"
    digits = next((digits for digits in (1, 2, 3, 4, 5) if float(f"{value * 100:.{digits}f}")), 9)
    return f"{value * 100:+.{digits}f} %"


def _line(each: Comparison, limit: float | None) -> tuple[str, ...]:
    alone = "-" if each.basis is Basis.SAMPLES else "exact"
    return (
        _name(each),
        figure(each.before.value.median),
        figure(each.after.value.median),
        each.before.headline.unit,
        share(each.slower),
        alone if each.low == each.high else f"{share(each.low)} to {share(each.high)}",
        str(each.basis) if each.p is None else f"{each.basis}, p = {each.p:.3g}",
        _verdict(each, limit),
    )


def _name(each: Comparison) -> str:
    """The row; of two images of one name, their folders, too, and of two libraries their versions."""
    before, after = each.before.first, each.after.first
    names = before.runtime, after.runtime
    if names[0] == names[1] and before.image_sha256 != after.image_sha256:
        names = before.build, after.build
    named = before.runtime if names[0] == names[1] else " -> ".join(names)
    row = " ".join(filter(None, (named, before.profile, before.workload)))
    return ", ".join([row, *_libraries(before, after)])


def _libraries(before: Row, after: Row) -> Iterator[str]:
    """A name and the version on both sides, for each library that differs."""
    for name in {**before.libraries, **after.libraries}:
        ours, theirs = (row.libraries.get(name, "as pinned") for row in (before, after))
        if ours != theirs:
            yield f"{name} {ours} -> {theirs}"


def library_caution(comparisons: Sequence[Comparison]) -> str | None:
    """The advice on a difference between two libraries; None where none were compared."""
    found = [each for each in comparisons if each.before.first.libraries != each.after.first.libraries]
    if not found:
        return None
    told = "A library calls the image's functions in another order, and its time depends on where these lie in flash:"
    judge = "judge the library by code, the average over other layouts."
    measure = "this time may mislead; measure both on an emulated board with --layouts 8, which tells the code."
    return f"{told} {judge if all(each.splits for each in found) else measure}"


def _verdict(each: Comparison, limit: float | None) -> str:
    allowed = USUAL_LIMIT if limit is None else limit
    by = f"by {share(abs(each.slower)).lstrip('+')}"
    if found := each.splits:
        by += f", of which code {share(found[0].code)}, layout {share(found[0].layout)}"
    if limit is not None and each.is_slower_than(limit):
        return f"SLOWER than {limit * 100:g}% allows: {by}"
    if each.too_few:
        return "too few runs to tell: 4 of each at least"
    if not each.differs:
        return "the same" if each.slower == 0 else "no difference beyond chance"
    if found and not found[0].is_code:
        return "the code is as fast: the difference is layout, or chance"
    if max(abs(each.slower), abs(each.judged)) <= allowed:
        return f"within {allowed * 100:g} %"
    return f"{'slower' if each.slower > 0 else 'faster'} {by}"


@dataclass(frozen=True)
class LayoutTable:
    """Differences of one row, divided into code and layout."""

    row: str
    title: str
    lines: list[tuple[str, ...]]


def layouts(comparisons: Sequence[Comparison]) -> list[LayoutTable]:
    """The rows that both sides have run in other layouts of the flash."""
    found = []
    for each in comparisons:
        if not (parts := each.splits):
            continue
        drawn = min(len(group.layouts.drawn) for group in (each.before, each.after) if group.layouts is not None)
        one_image = each.before.first.image_sha256 == each.after.first.image_sha256
        whose = "the image's" if one_image else "these two builds'"
        name, head, unit = _name(each), parts[0], f"_{each.before.headline.unit}"
        title = (
            f"Code and layout of {name}: of {share(head.linked)} of time, {share(head.code)} is code"
            f" ({share(head.low)} to {share(head.high)}, over {drawn} other layouts of the flash), and"
            f" {share(head.layout)} is where {whose} functions lie"
        )
        found.append(LayoutTable(name, title, [_layout_line(part, part.figure.removesuffix(unit)) for part in parts]))
    return found


def _layout_line(part: Split, name: str) -> tuple[str, ...]:
    ours, theirs = (f"{100 * value:.1f} %" for value in part.varies)
    interval = f"{share(part.low)} to {share(part.high)}"
    return (name, share(part.linked), share(part.code), interval, share(part.layout), share(part.free), ours, theirs)
