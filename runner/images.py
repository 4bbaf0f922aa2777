"""The store of images, with the names that boards give themselves."""

from __future__ import annotations

from collections.abc import Iterable

from portbench.boards import known_boards
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.images import ImageStore


def image_store(entries: Iterable[FirmwareEntry] = (), *, offline: bool | None = None) -> ImageStore:
    """The image store of the user's folders. Raises PortbenchError."""
    machines = {each.id: each.machine for each in known_boards().values()}
    return ImageStore(entries, machines=machines, offline=offline)
