"""The SD card in an emulated board's socket: its kind, its state, and the file that holds its memory."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from portbench_engine import SD_CARDS, SdMedium
from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StrictStr
from pydantic.dataclasses import dataclass

from portbench.boards.definition import BoardDefinition
from portbench.errors import BoardUnavailable
from portbench.files import lock, replacing

BLOCK: Final = 512
UNIT: Final = 1024 * BLOCK
"""A card's size is a multiple of this, as its CSD states it."""
_LABEL: Final = "SDCARD"
_LEFT_ON_FULL: Final = 64 << 10
_WORN_AFTER: Final = 2000
"""Blocks. A file system with one file takes some ten of them."""
_CORRUPT_ONE_IN: Final = 500
_BLOCKS: Final[dict[str, int]] = dict(SD_CARDS)
KINDS: Final = tuple(_BLOCKS)
_SETTLED_S: Final = 1.0
_COPIED: Final = 1 << 20
"""Bytes at once. Zeros of a file take no memory in a card."""
_SDSC_MOST: Final = 2 << 30

State = Literal["sound", "full", "read-only", "worn", "corrupt"]


def _kind(name: str) -> str:
    if name not in _BLOCKS:
        raise ValueError(f"{name!r} is not a card that is emulated; use one of {', '.join(KINDS)}")
    return name


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class SdCard:
    """An SD card. `kind`: the card whose times it has, see `engine/sd_card/src/kind.rs`; `seed`: draws these times.
    `state`: `full` has no room in its file system, `read-only` says TMP_WRITE_PROTECT, `worn` refuses to write after
    2000 blocks, `corrupt` reads every 500th block with a wrong bit. `image`: the file that holds its memory, made as a
    formatted card of the kind's size if it does not exist; None: a formatted card that is forgotten.
    """

    kind: Annotated[StrictStr, AfterValidator(_kind)] = KINDS[0]
    state: State = "sound"
    image: Path | None = None
    seed: Annotated[StrictInt, Field(ge=0, lt=1 << 64)] = 1


def card_settings(card: SdCard | None, medium: SdMedium | None, definition: BoardDefinition) -> dict[str, Any]:
    """Return the engine's settings of a card with `medium` in the board's socket. Raises BoardUnavailable."""
    if card is None:
        return {}
    if definition.sd_card is None:
        raise BoardUnavailable(f"{definition.id}: has no socket for an SD card; add [sd_card] to its file")
    faults: dict[str, dict[str, Any]] = {
        "read-only": {"write_protected": True},
        "worn": {"good_writes": _WORN_AFTER},
        "corrupt": {"corrupt_one_in": _CORRUPT_ONE_IN},
    }
    wires = {"bus": definition.sd_card.bus, **definition.sd_card.pins}
    of_card = {"kind": card.kind, "seed": card.seed, "medium": medium or new_medium(card)}
    return {"sd_card": {**of_card, **wires, **faults.get(card.state, {})}}


def new_medium(card: SdCard) -> SdMedium:
    """Return the memory of a new card, or of one in the card's state."""
    medium = SdMedium(_BLOCKS[card.kind])
    if card.state == "full":
        medium.fill(_LABEL, _LEFT_ON_FULL)
    else:
        medium.format(_LABEL)
    return medium


class CardImage:
    """The file of a card, locked by `image`.lock while open. Raises BoardUnavailable for one that cannot be a card."""

    def __init__(self, card: SdCard, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        lock_path = path.with_name(f"{path.name}.lock")
        if path.exists() and not path.is_file():
            raise BoardUnavailable(f"SD card: {path}: is not a file; name one for the card's memory")
        busy = BoardUnavailable(f"SD card: {path}: another board that runs has it; name another file")
        try:
            self._lock = lock(lock_path, busy)
        except OSError as error:
            raise BoardUnavailable(f"SD card: {lock_path}: {error.strerror}; name a file in your own folder") from error
        try:
            if path.exists():
                self.medium = _load(path, card)
                self._saved = self.medium.generation
            else:
                self.medium = new_medium(card)
                self._saved = -1
                self.save()
        except OSError as error:
            self.close()
            raise BoardUnavailable(f"SD card: {path}: {error.strerror or error}; name another file") from error
        except BaseException:
            self.close()
            raise
        self._seen = self.medium.generation
        self._changed_s = clock()

    def look(self) -> None:
        """Save the card once its changes have settled. Raises OSError."""
        if (generation := self.medium.generation) != self._seen:
            self._seen, self._changed_s = generation, self._clock()
        if self._seen != self._saved and self._clock() - self._changed_s >= _SETTLED_S:
            self.save()

    def save(self) -> None:
        """Save the card whole, or leave the file as it was; zeros become holes. Raises OSError."""
        generation = self.medium.generation
        if generation == self._saved:
            return
        with replacing(self._path) as stream:
            stream.truncate(self.medium.blocks * BLOCK)
            for start, length in self.medium.extents():
                stream.seek(start)
                stream.write(self.medium.read(start, length))
        self._saved = generation

    def close(self) -> None:
        self._lock.release()


def _load(path: Path, card: SdCard) -> SdMedium:
    size = path.stat().st_size
    if size == 0 or size % UNIT:
        raise BoardUnavailable(f"SD card: {path}: has {size} bytes; a card has a multiple of {UNIT}")
    # The CSD of SDSC cannot tell more.
    most = _SDSC_MOST if _BLOCKS[card.kind] * BLOCK <= _SDSC_MOST else 32 << 30
    if size > most:
        raise BoardUnavailable(f"SD card: {path}: has {size} bytes; a {card.kind} has at most {most}")
    medium = SdMedium(size // BLOCK)
    with path.open("rb") as stream:
        for start, end in _data_in(stream.fileno(), size):
            stream.seek(start)
            while start < end:
                data = stream.read(min(_COPIED, end - start))
                if not data:
                    raise OSError(f"ends at {start} of {size} bytes")
                medium.write(start, data)
                start += len(data)
    return medium


def _data_in(handle: int, size: int) -> list[tuple[int, int]]:
    """Return the parts of the file that are not holes, as far as the file system reports them."""
    if not hasattr(os, "SEEK_DATA"):
        return [(0, size)]
    found: list[tuple[int, int]] = []
    at = 0
    while at < size:
        try:
            start = os.lseek(handle, at, os.SEEK_DATA)
        except OSError:  # ENXIO: none from here on
            break
        at = os.lseek(handle, start, os.SEEK_HOLE)
        found.append((start, at))
    return found


class CardSlot:
    """The card in the board's socket, over all power cycles."""

    def __init__(self, definition: BoardDefinition) -> None:
        self._definition = definition
        self._card: SdCard | None = None
        self._medium: SdMedium | None = None
        self._image: CardImage | None = None

    def settings(self, card: SdCard | None, *, fresh: bool = False) -> dict[str, Any]:
        """Return the engine's settings for `card`. The same card as before keeps its memory unless it is to be `fresh`.

        Raises BoardUnavailable.
        """
        if card != self._card or (fresh and self._image is None):
            self.close()
            self._medium = None
            if card is not None and card.image is not None:
                self._image = CardImage(card, card.image)
                self._medium = self._image.medium
            elif card is not None:
                self._medium = new_medium(card)
            self._card = card
        return card_settings(card, self._medium, self._definition)

    def look(self) -> None:
        """Save the image when it is time. Raises OSError."""
        if self._image is not None:
            self._image.look()

    def close(self) -> None:
        """Save and close the image. Raises OSError where it could not be saved."""
        if self._image is not None:
            image, self._image = self._image, None
            try:
                image.save()
            finally:
                image.close()
