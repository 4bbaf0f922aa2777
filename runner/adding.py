"""Take image files into the user's cache, each under the name by which its runtime is looked for."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from portbench.boards import board_of_machine
from portbench.boards.releases import named, target
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Catalogue, FirmwareEntry
from portbench.firmware.identify import Uf2File
from portbench.runner.program import image_store


@dataclass(frozen=True)
class Added:
    """A file, and the runtime that it is; else why it was left out."""

    path: Path
    runtime: str | None
    reason: str | None = None


def add(places: Iterable[Path]) -> Iterator[Added]:
    """Add the .uf2 files among `places` and in the folders there. Raises PortbenchError for the user's folders."""
    known = catalogue.load()
    for path in _files(places):
        try:
            image = Uf2File.read(path)
            entry = _entry(image, known)
            if entry is None:
                says = " ".join(filter(None, (image.identity.family, image.identity.version, image.identity.machine)))
                yield Added(path, None, f"is not an image of the catalogue: {says or 'names no runtime'}")
                continue
            image_store().add(entry, path)
            yield Added(path, entry.id)
        except PortbenchError as error:
            yield Added(path, None, str(error).removeprefix(f"{path}: "))


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted(path for path in place.rglob("*") if path.suffix.lower() == ".uf2")
        else:
            yield place


def _entry(image: Uf2File, known: Catalogue) -> FirmwareEntry | None:
    """By its hash, else by the family, version and board that it names, if their hash is not known."""
    for entry in known:
        if entry.sha256 == image.sha256:
            return entry
    says = image.identity
    board = board_of_machine(says.machine) if says.machine else None
    if board is None or says.family is None or says.version is None:
        return None
    of = target(board)
    if says.family not in of.names:
        return None
    try:
        entry = named(of.prefix(says.family) + says.version, known)
    except PortbenchError:
        return None
    return entry if entry.sha256 is None else None
