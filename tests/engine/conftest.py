"""Real images for the engine's tests. One that cannot be had skips its test, with the line that provides it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from portbench.firmware import catalogue
from portbench.firmware.images import ImageError, ImageStore

Image = Callable[[str], Path]


@pytest.fixture(scope="session")
def image() -> Image:
    entries = {entry.id: entry for entry in catalogue.load()}

    def path(entry_id: str) -> Path:
        try:
            # From PORTBENCH_FIRMWARE_DIR or the cache: nothing is downloaded for these tests.
            found = ImageStore([entries[entry_id]], offline=True).obtain(entries[entry_id])
        except ImageError as error:
            pytest.skip(str(error))
        assert found.path is not None
        return found.path

    return path
