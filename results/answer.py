"""The answer in words below a table, from its rows: the fastest firmware, its line of code, and its disadvantages.

A paragraph is text; one that begins with four spaces is code to paste, as in Markdown.
"""

import contextlib
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from portbench.errors import PortbenchError
from portbench.publisher import is_official
from portbench.results.cells import figure, stated
from portbench.results.explain import explained
from portbench.results.model import Offers, Row, Status
from portbench.results.published import as_headline
from portbench.results.stats import Group
from portbench.where import Where
from portbench.workloads import Workload

CODE: Final = "    "
_MOST_REASONS: Final = 2
"""Sentences that say why a row takes as long as it does: what explains most of its figure. `portbench explain` has
them all."""
_NO_PYTHON: Final = frozenset({"native"})
_OTHERS: Final = 4
_WORTH_TELLING: Final = 1.005
"""The least factor between two settings: below it both figures would be printed alike."""


def is_python(row: Row) -> bool:
    """True if the row's firmware runs Python. Other firmware shows the limit of the board, and is not ranked."""
    return row.family not in _NO_PYTHON


def answer(groups: Sequence[Group], where: Where) -> list[str]:
    """The answer for the groups of one table, best first; none for ports on the PC, which cannot be flashed."""
    return [*fastest(groups, where), *more(groups, where)]


def fastest(groups: Sequence[Group], where: Where) -> list[str]:
    """The beginning of the answer: the fastest Python, its line and its price; the references where there is none."""
    if where is Where.HOSTED:
        return []
    pythons = [group for group in groups if is_python(group.first)]
    return _fastest(pythons) if pythons else _references(groups)


def more(groups: Sequence[Group], where: Where) -> list[str]:
    """The rest of the answer: the settings, and the references beside the fastest Python."""
    pythons = [group for group in groups if is_python(group.first)]
    if where is Where.HOSTED or not pythons:
        return []
    return [*settings(pythons), *_references([group for group in groups if not is_python(group.first)], pythons[0])]


def flash(groups: Sequence[Group]) -> list[str]:
    """The firmware to flash: `recommended`, with its line of code and where it is; none where none is known."""
    if (best := recommended(groups)) is None or best.first.offers is None:
        return []
    rate = f"{figure(best.value.median)} {best.headline.unit}"
    run = f", and run it {best.first.profile}" if best.first.profile else ""
    text = (
        f"Flash {best.first.runtime}, the newest maintained firmware{run}: {rate}."
        f" It is at {best.first.offers.sources[0]}"
    )
    return [text, *([CODE + best.first.line] if best.first.line else [])]


def recommended(groups: Sequence[Group]) -> Group | None:
    """The newest maintained Python of a project's own at its best; None where none is known."""
    known = [(group, group.first.offers) for group in best_of_each(groups) if is_python(group.first)]
    kept = [
        (each.released, group) for group, each in known if each and each.maintained and is_official(each.sources[0])
    ]
    return max(kept, key=lambda each: each[0])[1] if kept else None


def why(groups: Sequence[Group]) -> list[str]:
    """A line for each group with an attributed run that a rule explains, in the words of `portbench explain`."""
    lines = []
    for group in groups:
        sentences = explained(group.attributed) if group.attributed else []
        if said := [sentence.text for sentence in sentences if sentence.share is not None][:_MOST_REASONS]:
            lines.append(f"Why, {group.first.name}: {'; '.join(said)}.")
    return lines


def published_lines(known: Workload | None, groups: Sequence[Group]) -> list[str]:
    """The sources and figures of the column *silicon*; none where the table has no such figure."""
    if known is None or not groups:
        return []
    boards = {group.first.board for group in groups}
    lines = []
    for source in known.published:
        if source.board not in boards:
            continue
        with contextlib.suppress(PortbenchError):
            figures = [(each.runtime, as_headline(known, source, each)) for each in source.firmware]
            told = ", ".join(f"{runtime} {stated(published)}" for runtime, published in figures)
            unit = figures[0][1].figure or known.headline.unit
            lines.append(f"Silicon: {told} {unit}, by {source.who}: {source.url}")
    return lines


def not_at_hand(rows: Iterable[Row]) -> list[str]:
    """For rows that are skipped without their images: a line with their names, and a command that downloads all."""
    missing = [row for row in rows if row.status is Status.SKIPPED and row.image_url is not None]
    if not missing:
        return []
    names = ", ".join(dict.fromkeys(row.runtime for row in missing))
    urls = " ".join(dict.fromkeys(f"-O {shlex.quote(str(row.image_url))}" for row in missing))
    folder = "${PORTBENCH_FIRMWARE_DIR:-.}"
    return [
        f"Without an image: {names}. All of them, into the folder that PORTBENCH_FIRMWARE_DIR names:",
        f'{CODE}(mkdir -p "{folder}" && cd "{folder}" && curl -fL {urls})',
    ]


def _fastest(pythons: Sequence[Group]) -> list[str]:
    best = pythons[0]
    others = best_of_each(pythons)[1:]
    rate = f"{figure(best.value.median)} {best.headline.unit}"
    compared = ", ".join(f"{times_text(best, other)} times {other.first.runtime}'s best" for other in others[:_OTHERS])
    of = f" ({best.first.profile})" if best.first.profile else ""
    text = f"Fastest Python: {best.first.runtime}{of}, {rate}{', ' + compared if compared else ''}."
    if not others:
        text = f"The only Python here: {best.first.runtime}{of}, {rate}."
    lines = [text]
    if best.first.line:
        lines += [CODE + best.first.line]
    if others and (cost := price(best, recommended(others) or others[0])):
        lines.append(cost)
    return lines


def best_of_each(groups: Sequence[Group]) -> list[Group]:
    """The best row of each firmware, best first."""
    firsts: dict[tuple[str, str], Group] = {}
    for group in groups:
        firsts.setdefault(group.firmware, group)
    return list(firsts.values())


def price(best: Group, other: Group) -> str | None:
    """The features that the best lacks and the other has, as far as both are known."""
    here, there = best.first.offers, other.first.offers
    if here is None or there is None:
        return None
    lacks = list(_lacks(here, there))
    if not lacks:
        return f"Compared with {other.first.runtime} it lacks nothing that is known."
    return f"Compared with {other.first.runtime} it lacks: {'; '.join(lacks)}. Source: {here.sources[0]}."


def _lacks(here: Offers, there: Offers) -> Iterable[str]:
    if here.tcp_sockets is not None and there.tcp_sockets is not None and here.tcp_sockets < there.tcp_sockets:
        yield f"TCP sockets ({here.tcp_sockets} instead of {there.tcp_sockets})"
    if there.tls and here.tls is False:
        yield "TLS"
    if here.released < there.released:
        older = " instead of ".join(f"{each.python or 'a release'} of {each.released.year}" for each in (here, there))
        yield f"a newer Python ({older})"
    if there.maintained and not here.maintained:
        yield "new releases"


def settings(pythons: Sequence[Group]) -> list[str]:
    """The factor between the best and the worst settings of each firmware, with both lines of code. Firmware with the
    same lines shares a paragraph."""
    together: dict[tuple[str, str], list[tuple[Group, Group]]] = {}
    for best in best_of_each(pythons):
        of = [each for each in pythons if each.firmware == best.firmware]
        worst = of[-1]
        if best.first.line and worst.first.line and best.first.line != worst.first.line:
            together.setdefault((best.first.line, worst.first.line), []).append((best, worst))
    lines = []
    for (line, instead), pairs in together.items():
        told = [
            f"{best.first.runtime} {times_text(best, worst)} times as fast ({figure(best.value.median)} instead of"
            f" {figure(worst.value.median)} {best.headline.unit})"
            for best, worst in pairs
            if best.times(worst) >= _WORTH_TELLING
        ]
        if told:
            lines += [f"Settings make {', '.join(told)}:", f"{CODE}{line}", "instead of", f"{CODE}{instead}"]
    return lines


def _references(references: Sequence[Group], best: Group | None = None) -> list[str]:
    return [
        f"Reference: {group.first.runtime}, which is not Python, {figure(group.value.median)} {group.headline.unit}"
        + (f", {times_text(group, best)} times the fastest Python." if best else ".")
        for group in references
    ]


def times_text(group: Group, other: Group) -> str:
    """Say how many times better `group` is than `other`, which has the same headline."""
    times = group.times(other)
    return f"{times:.2f}" if times < 2 else f"{times:.1f}" if times < 100 else f"{times:.0f}"
