"""Rows of releases whose module `network` differs, with their real images."""

import os
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import board_definition
from portbench.firmware import FOLDER_VARIABLE
from tests.conftest import Image
from tests.measuring import measured

pytestmark = pytest.mark.slow

FORK = "wiznet-fork-1.0.0.uf2"


def figures(tmp_path: Path, **options: Any) -> list[tuple[str | None, float]]:
    rows = measured(tmp_path, settings={"messages": 20}, **options)
    return [(row.profile, row.figures["messages_per_s"]) for row in rows]


def test_wiznets_line_plays_with_both_profiles(image: Image, tmp_path: Path) -> None:
    image("wiznet-1.27.0")
    (_, published), (_, tuned) = figures(tmp_path, runtimes=("wiznet-1.27.0",))
    assert 15 < published < 17 and 500 < tuned < 700


def test_the_fork_of_2021_plays_with_a_static_address(tmp_path: Path) -> None:
    path = Path(os.environ.get(FOLDER_VARIABLE, ""), FORK)
    if not path.is_file():
        pytest.skip(f"without the image {FORK}: it is in the public repository Wiznet/RP2040-HAT-MicroPython")
    board = board_definition("W5100S_EVB_PICO")
    found = figures(tmp_path, runtimes=(str(path),), board=board, address_mode="static")
    assert [profile for profile, _ in found] == ["as-published", "tuned"]
    assert all(34 < figure < 36 for _, figure in found), found
