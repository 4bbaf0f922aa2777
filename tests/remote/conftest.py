"""A fake board's console on the network, and real firmware for the tests that go all the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from portbench.firmware import catalogue
from portbench.firmware.images import ImageError, ImageStore, ImageUnavailable
from tests.usb.conftest import boards, deadline, own_locks  # noqa: F401  (fixtures)


@pytest.fixture(scope="session")
def image() -> Callable[[str], Path]:
    """The image of a catalogue entry; skips the test, with what would provide it, where it cannot be had."""
    entries = {entry.id: entry for entry in catalogue.load()}

    def path(entry_id: str) -> Path:
        try:
            found = ImageStore([entries[entry_id]]).obtain(entries[entry_id])
        except (ImageError, ImageUnavailable) as error:
            pytest.skip(str(error))
        assert found.path is not None
        return found.path

    return path
