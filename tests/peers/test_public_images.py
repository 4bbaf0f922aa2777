"""Public images with a Python in them: each has to start, answer on its console, and be the version that it says."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from portbench.errors import PortbenchError
from tests.peers.conftest import ImageOf, Tell
from tests.peers.record import Outcome, Suite, Verdict, failed

pytestmark = pytest.mark.engine
_IMAGES: Final = tomllib.loads(Path(__file__).with_name("public_images.toml").read_text())["image"]
_ASK: Final = "import sys; print(sys.implementation.name, '.'.join(map(str, sys.implementation.version[:3])), end='')"


@pytest.mark.parametrize("listed", _IMAGES, ids=lambda listed: listed["id"])
def test_public_image(
    listed: dict[str, str], image_of: ImageOf, make_emulated_board: Callable[..., Any], tell: Tell
) -> None:
    image, wanted = image_of(listed["sha256"]), f"{listed['family']} {listed['version']}"
    try:
        board = make_emulated_board(listed["board"])
        board.flash(image)
        answered = board.execute(_ASK)
        outcome = Outcome(listed["id"], Verdict.RIGHT)
        if answered != wanted:
            outcome = Outcome(listed["id"], Verdict.WRONG, f"answers {answered}, not {wanted}")
    except PortbenchError as error:
        outcome = failed(listed["id"], error)
    sources = tuple(f"{each['id']} {each['sha256'][:12]}" for each in _IMAGES)
    title, programs = "Public images, to the console's first answer", tuple(each["id"] for each in _IMAGES)
    tell(Suite("public_images", title, sources, (outcome,), programs=programs))
