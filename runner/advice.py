"""Advice for a board, from the figures that come with portbench: which firmware to flash, how, and a first program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from portbench.boards import BoardDefinition, board_definition
from portbench.boards.releases import newest_listed
from portbench.clients.example import example
from portbench.clients.families import FAMILIES
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Catalogue, FirmwareEntry
from portbench.firmware.identify import release
from portbench.results.answer import CODE, best_of_each, is_python, price, times_text
from portbench.results.cells import figure, stated, workload_title
from portbench.results.published import as_headline
from portbench.results.shipped import shipped
from portbench.results.stats import Group
from portbench.results.table import panels
from portbench.workloads import workload


@dataclass(frozen=True)
class Choice:
    """A firmware in its best profile."""

    group: Group
    entry: FirmwareEntry

    @property
    def rate(self) -> str:
        """The figure with its unit."""
        return f"{figure(self.group.value.median)} {self.group.headline.unit}"

    @property
    def maintained(self) -> bool:
        return self.entry.offers is not None and self.entry.offers.maintained

    @property
    def released(self) -> date:
        return date.min if self.entry.offers is None else self.entry.offers.released


@dataclass(frozen=True)
class Advice:
    """`choices` are best first; `newest` is the newest release, of maintained firmware if there is any."""

    board: BoardDefinition
    workload: str
    measured: datetime
    choices: tuple[Choice, ...]
    newest: Choice
    later: tuple[FirmwareEntry, ...] = ()
    """The newest releases in the lists here, of families whose measured firmware is older."""

    @property
    def fastest(self) -> Choice:
        return self.choices[0]

    @property
    def program(self) -> str:
        """A complete program for `newest`."""
        row = self.newest.group.first
        return example(row.family, self.board, row.line)

    @property
    def file_on_board(self) -> str:
        """The file that `newest` runs when it starts."""
        return FAMILIES[self.newest.group.first.family].script

    @property
    def age_days(self) -> int:
        return (datetime.now(UTC).date() - self.measured.date()).days


def advise(board_name: str) -> Advice:
    """Raises PortbenchError for an unknown board and for one whose figures do not ship."""
    board = board_definition(board_name)
    run = shipped(board.id)
    known = catalogue.load()
    entries = {entry.id: entry for entry in known}
    panel = panels(run)[0]
    best = best_of_each([group for group in panel.groups if is_python(group.first)])
    choices = tuple(Choice(group, entries[group.first.runtime]) for group in best if group.first.runtime in entries)
    if not choices:
        raise PortbenchError(f"{board.id}: its figures are of no firmware in the catalogue; measure: portbench run")
    newest = max(choices, key=lambda each: (each.maintained, each.released))
    later = tuple(_later(board, choices, known))
    return Advice(board, panel.workload, run.started_utc, choices, newest, later)


def _later(board: BoardDefinition, choices: Sequence[Choice], known: Catalogue) -> Iterator[FirmwareEntry]:
    """By the lists as they are here: no site is asked."""
    for family in dict.fromkeys(each.entry.family for each in choices):
        measured = max(release(each.entry.version or "") for each in choices if each.entry.family is family)
        if (listed := newest_listed(family, board, known)) is not None and release(listed.version or "") > measured:
            yield listed


def lines(advice: Advice) -> list[str]:
    """The advice for a terminal. A line that begins with four spaces is code, as in `results.answer`."""
    newest, fastest = advice.newest, advice.fastest
    upkeep = "maintained firmware that was measured" if newest.maintained else "firmware measured; none is maintained"
    drive = advice.board.volumes.bootloader
    said = [
        f"{advice.board.title}: flash {newest.entry.id}, the newest {upkeep}, {newest.rate}.",
        f"    {newest.entry.url}",
        f"Hold BOOTSEL while you plug the board in, and copy the file onto its drive {drive}. Or:",
        f"    portbench flash {newest.entry.id}",
        f"Save this program on the board as {advice.file_on_board}:",
        _indented(advice.program),
    ]
    if fastest is not newest:
        times = times_text(fastest.group, newest.group)
        said += [
            f"Fastest: {fastest.entry.id}, {fastest.rate}, {times} times that.",
            f"    {fastest.entry.url}",
        ]
        if (cost := price(fastest.group, newest.group)) is not None:
            said.append(cost)
    if others := [each for each in advice.choices if each not in (newest, fastest)]:
        said.append(f"Others: {', '.join(f'{each.entry.id} {each.rate}' for each in others)}.")
    said += _published(advice)
    if advice.later:
        names = " ".join(f"--runtime {each.id}" for each in advice.later)
        ids = ", ".join(each.id for each in advice.later)
        said += [f"Released later, not measured yet: {ids}.", f"    portbench run --board {advice.board.id} {names}"]
    ago = "today" if advice.age_days == 0 else "yesterday" if advice.age_days == 1 else f"{advice.age_days} days ago"
    said += [
        f"{workload_title(advice.workload)} on an {newest.group.first.where} board, measured {advice.measured:%Y-%m-%d}"
        f" ({ago}). Measure again:",
        f"    portbench run --all --board {advice.board.id} --workload {advice.workload}",
    ]
    return said


def _published(advice: Advice) -> Iterator[str]:
    """The causes of the figures that others published of this board, and the line that replaces them today."""
    known = workload(advice.workload)
    for source in known.published:
        told = [(each, as_headline(known, source, each)) for each in source.firmware if each.cause]
        if source.board != advice.board.id or not told:
            continue
        rates = [published.median for _, published in told]
        yield f"Published by {source.who}, {max(rates) / min(rates):.0f} times apart, because:"
        for each, published in sorted(told, key=lambda pair: -pair[1].median):
            yield f"- {each.runtime}, {stated(published)} {known.headline.unit}: {each.cause}."
        if line := advice.newest.group.first.line:
            yield f"Today, on {advice.newest.entry.id}, {advice.newest.rate}:"
            yield f"{CODE}{line}"


def as_data(advice: Advice) -> dict[str, Any]:
    """The advice for a program, with the figures of every firmware, best first."""
    return {
        "board": advice.board.id,
        "workload": advice.workload,
        "measured_utc": advice.measured.isoformat(),
        "newest": advice.newest.entry.id,
        "fastest": advice.fastest.entry.id,
        "program": advice.program,
        "later": [each.id for each in advice.later],
        "choices": [
            {
                "runtime": each.entry.id,
                "profile": each.group.first.profile,
                "version": each.group.first.version,
                "maintained": each.maintained,
                "url": each.entry.url,
                "line": each.group.first.line,
                "value": each.group.value.median,
                "unit": each.group.headline.unit,
                "where": each.group.first.where,
            }
            for each in advice.choices
        ],
    }


def _indented(program: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in program.splitlines())
