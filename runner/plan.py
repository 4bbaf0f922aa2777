"""Which rows a bench run will measure: board x runtime x profile x run, in the catalogue's order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from portbench.boards import UnknownBoard, board_definition
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Catalogue, CatalogueError, Family, FirmwareEntry, RunSettings
from portbench.firmware.identify import entry_for_file
from portbench.firmware.uf2 import Uf2Error
from portbench.runner.options import BenchOptions


@dataclass(frozen=True)
class PlannedRun:
    """One row to come: `number` counts the runs of a runtime and profile from 1 to `of`.

    `device`: the board, as `--device` names it. `is_one_of_several`: others measure the same rows.
    """

    entry: FirmwareEntry
    profile: RunSettings
    number: int
    of: int
    device: str = "auto"
    is_one_of_several: bool = False

    @property
    def id(self) -> str:
        """As in pytest's test ids: `micropython-1.26.0-tuned`, with `-2` for the second of several runs."""
        name = self.entry.id if self.profile.name == "hosted" else f"{self.entry.id}-{self.profile.name}"
        if self.is_one_of_several:
            name += f"-on-{self.device}"
        return name if self.of == 1 else f"{name}-{self.number}"

    @property
    def label(self) -> str:
        """For people: runtime, profile, and which run of how many."""
        of = f" {self.number}/{self.of}" if self.of > 1 else ""
        on = f" on {self.device}" if self.is_one_of_several else ""
        return f"{self.entry.id} {self.profile.name}{of}{on}"


def chosen_entries(options: BenchOptions, known: Catalogue) -> list[FirmwareEntry]:
    """The entries that `--runtime`, `--board` and `--where` leave. Raises pytest.UsageError."""
    if options.runtimes:
        entries = [_entry(runtime, options, known) for runtime in options.runtimes]
    else:
        entries = [entry for entry in known if entry.family is Family.HOSTED or _is_for(entry, options)]
    if options.where == "hosted":
        entries = [entry for entry in entries if entry.family is Family.HOSTED]
    elif options.where != "auto":
        entries = [entry for entry in entries if entry.family is not Family.HOSTED]
    return entries


def plan(options: BenchOptions, known: Catalogue | None = None) -> list[PlannedRun]:
    """All rows to measure. Raises pytest.UsageError where nothing is left to measure."""
    entries = chosen_entries(options, catalogue.load() if known is None else known)
    profiles = sorted({row.name for entry in entries for row in entry.rows})
    for wanted in options.profiles:
        if wanted not in profiles:
            raise pytest.UsageError(f"--profile: {wanted!r} is none of {', '.join(profiles)}")
    rows = list(_rows(entries, options))
    if not rows:
        raise pytest.UsageError(
            f"no runtime is left to measure with --where {options.where} on {options.board.id}; see --list-runtimes"
        )
    return rows


def _rows(entries: Iterable[FirmwareEntry], options: BenchOptions) -> Iterable[PlannedRun]:
    """Board by board, as changing boards costs a flash; hosted ports have this PC only."""
    several = len(options.devices) > 1
    entries = list(entries)
    for device in options.devices:
        for entry in entries:
            if entry.family is not Family.HOSTED:
                yield from _rows_of(entry, options, device, several)
    for entry in entries:
        if entry.family is Family.HOSTED:
            yield from _rows_of(entry, options, "auto", False)


def _rows_of(entry: FirmwareEntry, options: BenchOptions, device: str, is_one_of_several: bool) -> Iterable[PlannedRun]:
    for profile in entry.rows:
        if not options.profiles or profile.name in options.profiles:
            for number in range(1, options.runs + 1):
                yield PlannedRun(entry, profile, number, options.runs, device, is_one_of_several)


def _entry(runtime: str, options: BenchOptions, known: Catalogue) -> FirmwareEntry:
    if runtime.lower().endswith(".uf2"):
        try:
            return entry_for_file(Path(runtime), board=options.board.id)
        except (CatalogueError, Uf2Error) as error:
            raise pytest.UsageError(f"--runtime: {error}") from None
    try:
        return known.get(runtime)
    except CatalogueError:
        ids = ", ".join(entry.id for entry in known)
        raise pytest.UsageError(f"--runtime: {runtime!r} is no .uf2 file and none of {ids}") from None


def _is_for(entry: FirmwareEntry, options: BenchOptions) -> bool:
    try:
        return board_definition(entry.board) == options.board
    except UnknownBoard:
        return False
