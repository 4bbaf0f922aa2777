"""Images by name for the defined boards: the catalogue's, and the releases that their makers list."""

from datetime import date

from portbench.boards.definition import BoardDefinition, Wifi, known_boards
from portbench.errors import PortbenchError
from portbench.firmware.catalogue import Catalogue, Family, FirmwareEntry
from portbench.firmware.releases import ReleaseTarget, usual_index


def target(board: BoardDefinition) -> ReleaseTarget:
    """The board as the makers of firmware name it."""
    names = {Family.MICROPYTHON: board.id, Family.CIRCUITPYTHON: board.circuitpython_id}
    return ReleaseTarget(board.id, names, isinstance(board.network, Wifi))


def is_selector(runtime: str) -> bool:
    """True for `micropython@latest` and the like."""
    return "@" in runtime


def selected(runtime: str, board: BoardDefinition, known: Catalogue) -> list[FirmwareEntry]:
    """The images of a selector, oldest first, or the one with the id `runtime`. Raises PortbenchError."""
    if is_selector(runtime):
        return usual_index().select(runtime, target(board), known)
    return [named(runtime, known)]


def newest_listed(family: Family, board: BoardDefinition, known: Catalogue) -> tuple[FirmwareEntry, date] | None:
    """The newest stable release in the list as it is here, and the list's day; None for a family without one."""
    newest = usual_index().newest(family, target(board), known)
    return None if newest is None else (newest, usual_index().listing(family, target(board), known).seen)


def named(runtime: str, known: Catalogue) -> FirmwareEntry:
    """The image with the id `runtime`: of the catalogue, else of a list. Raises PortbenchError."""
    try:
        return known.get(runtime)
    except PortbenchError:
        listed = usual_index().entry(runtime, map(target, known_boards().values()), known)
        if listed is None:
            raise
        return listed
