"""Which board serves another one: the second half of the rows of a workload that two boards play."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from portbench.boards import board_definition
from portbench.errors import OptionError, PortbenchError
from portbench.firmware.catalogue import Catalogue, FirmwareEntry
from portbench.firmware.families import Profile
from portbench.workloads import Workload, WorkloadSettings

if TYPE_CHECKING:
    from portbench.runner.plan import PlannedRow

SAME: Final = "same"
EACH: Final = "each"


def entries_of(
    partner: str, client: FirmwareEntry, chosen: Sequence[FirmwareEntry], known: Catalogue
) -> list[FirmwareEntry]:
    """What the setting `partner` names, for `client`; `chosen` are the clients. Raises OptionError."""
    if partner == SAME:
        return [client]
    if partner == EACH:
        return [entry for entry in chosen if not entry.family.traits.hosted]
    if (entry := next((each for each in chosen if each.id == partner), None)) is not None:
        return [entry]
    try:
        return [known.get(partner)]
    except PortbenchError:
        ids = ", ".join(entry.id for entry in known if not entry.family.traits.hosted)
        raise OptionError(f"--partner: {partner!r} is none of {SAME}, {EACH}, {ids}") from None


def profile_of(entry: FirmwareEntry, like: Profile) -> Profile:
    """The one of that name, else the first."""
    return next((each for each in entry.profiles if each.name == like.name), entry.profiles[0])


def named(settings: WorkloadSettings, partner: str) -> WorkloadSettings:
    """The settings of a row say who its partner is."""
    return settings.model_copy(update={"partner": partner})


def with_partners(
    row: PlannedRow, partners: Iterable[FirmwareEntry], serving: tuple[Workload, WorkloadSettings]
) -> Iterator[PlannedRow]:
    """`row` once with each."""
    workload, settings = serving
    for entry in partners:
        # A bundled image is of one body: the client's is none for the board that serves.
        bundled = entry.family.traits.client_in_image and entry.path in (None, row.workload.body("native"))
        partner = replace(
            row,
            entry=replace(entry, path=workload.body("native")) if bundled else entry,
            profile=profile_of(entry, row.profile),
            workload=workload,
            settings=settings,
            board=row.board if entry.board == row.entry.board else board_definition(entry.board),
        )
        yield replace(row, settings=named(row.settings, entry.id), partner=partner)
