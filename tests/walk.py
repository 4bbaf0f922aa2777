"""Random walks whose whole course is recorded as a checksum: any changed note shows.

After a wanted change, show it in another test, and take the checksum from the failure of the recorded one.
"""

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import Any, TypeVar

Item = TypeVar("Item")


class Walk:
    """Draws by `random()` alone, whose numbers are the same with every Python, and notes the results."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._noted = sha256()

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self._random.random() * len(items))]

    def note(self, *seen: object) -> None:
        self._noted.update(f"{seen}\n".encode())

    @property
    def checksum(self) -> str:
        return self._noted.hexdigest()[:16]


def shortened(value: Any) -> Any:
    """Numbers with nine digits: the last ones are a library's."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
