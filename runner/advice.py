"""Advice for a board, from the figures that come with portbench: which firmware to flash, how, and a first program."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from portbench.boards import BoardDefinition, board_definition
from portbench.boards.releases import newest_listed
from portbench.clients.example import example
from portbench.clients.families import FAMILIES
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.identify import release
from portbench.firmware.releases import LISTED, changes
from portbench.publisher import is_official, publisher
from portbench.results.answer import CODE, best_of_each, is_python, price, times_text
from portbench.results.cells import figure, stated, workload_title
from portbench.results.published import as_headline
from portbench.results.shipped import shipped, shipped_boards
from portbench.results.stats import Group
from portbench.results.table import panels
from portbench.runner.plan import client_family
from portbench.runner.program import profile_line
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
    def released(self) -> date:
        return date.min if self.entry.offers is None else self.entry.offers.released

    @property
    def label(self) -> str:
        """The firmware with its publisher and its figure."""
        return f"{self.entry.id} by {publisher(self.entry.url)}, {self.rate}"


@dataclass(frozen=True)
class Advice:
    """`choices` are the measured firmware, best first. `flash` is the newest official release, measured or not."""

    board: BoardDefinition
    workload: str
    measured: datetime
    choices: tuple[Choice, ...]
    flash: FirmwareEntry
    program: str
    """A complete program for `flash`."""
    listed: date
    """The day as of which the list with `flash` is known."""
    relative: Choice | None
    """The newest official firmware of the same family that was measured."""
    later: tuple[FirmwareEntry, ...] = ()
    """The newest releases that are not measured, with `flash` if it is not."""

    @property
    def fastest(self) -> Choice:
        return self.choices[0]

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
    # The catalogue's images are in the lists too. Of two families, the one that was measured.
    official = sorted((each for each in choices if is_official(each.entry.url)), key=lambda each: each.released)
    families = dict.fromkeys([*(each.entry.family for each in reversed(official)), *LISTED])
    newest = [found for family in families if (found := newest_listed(family, board, known)) is not None]
    if not newest:
        raise PortbenchError(f"{board.id}: no official firmware is known for it; see: portbench list releases")
    flash, seen = newest[0]
    relative = next((each for each in reversed(official) if each.entry.family is flash.family), None)
    later = tuple(listed for listed, _ in newest if listed.id not in {each.entry.id for each in choices})
    line = relative.group.first.line if relative else profile_line(flash, board, flash.profiles[-1])
    program = example(client_family(flash), board, line)
    return Advice(board, panel.workload, run.started_utc, choices, flash, program, seen, relative, later)


def lines(advice: Advice) -> list[str]:
    """The advice for a terminal. A line that begins with four spaces is code, as in `results.answer`."""
    flash, relative, fastest = advice.flash, advice.relative, advice.fastest
    older = "" if relative is None else f" Measured: {relative.entry.id}, {relative.rate}."
    is_measured = relative is not None and relative.entry is flash
    told = f": {relative.rate}." if relative and is_measured else f", not measured yet.{older}"
    drive = advice.board.volumes.bootloader
    said = [
        f"{advice.board.title}: flash {flash.id}, {publisher(flash.url)}'s newest release as of {advice.listed}{told}",
        f"    {flash.url}",
        f"Hold BOOTSEL while you plug the board in, and copy the file onto its drive {drive}. Or:",
        f"    portbench flash {flash.id}",
        f"Save this program on the board as {FAMILIES[client_family(flash)].script}:",
        _indented(advice.program),
    ]
    if fastest is not relative:
        times = f", {times_text(fastest.group, relative.group)} times {relative.entry.id}" if relative else ""
        said += [f"Fastest measured: {fastest.label}{times}.", f"    {fastest.entry.url}"]
        if relative is not None and (cost := price(fastest.group, relative.group)) is not None:
            said.append(cost)
    if others := [each.label for each in advice.choices if each not in (relative, fastest)]:
        said.append(f"Others: {'; '.join(others)}.")
    said += _published(advice)
    if advice.later:
        names = " ".join(f"--runtime {each.id}" for each in advice.later)
        said.append(f"Not measured yet: {', '.join(each.id for each in advice.later)}.")
        said += [f"{text}." for each in advice.later for text in _changes(each, advice)]
        said.append(f"    portbench run --board {advice.board.id} {names}")
    ago = "today" if advice.age_days == 0 else "yesterday" if advice.age_days == 1 else f"{advice.age_days} days ago"
    where, day = fastest.group.first.where, f"{advice.measured:%Y-%m-%d} ({ago})"
    return [
        *said,
        f"{workload_title(advice.workload)} on an {where} board, measured {day}. Measure again:",
        f"    portbench run --all --board {advice.board.id} --workload {advice.workload}",
        f"portbench advise also knows {', '.join(board for board in shipped_boards() if board != advice.board.id)}.",
    ]


def _changes(entry: FirmwareEntry, advice: Advice) -> Iterator[str]:
    """The changes between a family's measured releases and `entry` that move figures."""
    measured = [each.entry.version or "" for each in advice.choices if each.entry.family is entry.family]
    network = None if advice.board.network is None else advice.board.network.kind
    for since, text in changes(entry.family, network):
        if max(map(release, measured), default=()) < release(since) <= release(entry.version or ""):
            yield f"{publisher(entry.url)} since {since} {text}"


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
        if advice.relative is not None and (line := advice.relative.group.first.line):
            yield f"Today, on {advice.relative.entry.id}, {advice.relative.rate}:"
            yield f"{CODE}{line}"


def as_data(advice: Advice) -> dict[str, Any]:
    """The advice for a program, with the figures of every firmware, best first."""
    return {
        "board": advice.board.id,
        "workload": advice.workload,
        "measured_utc": advice.measured.isoformat(),
        "flash": {"runtime": advice.flash.id, "publisher": publisher(advice.flash.url), "url": advice.flash.url},
        "fastest": advice.fastest.entry.id,
        "program": advice.program,
        "later": [each.id for each in advice.later],
        "choices": [
            {
                "runtime": each.entry.id,
                "profile": each.group.first.profile,
                "version": each.group.first.version,
                "publisher": publisher(each.entry.url),
                "official": is_official(each.entry.url),
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
