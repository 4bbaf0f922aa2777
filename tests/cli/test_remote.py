"""What keeps `portbench desk remote` from serving a console; test_desk.py has one that is served."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Start


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--listen", "2217"], 2, "is not HOST:PORT"),
        (["--device", "usb:nowhere"], 1, "no board usb:nowhere; plug it in"),
        (["--device", "what"], 1, "is none of auto, id:SERIAL"),
    ],
)
def test_bad_options_are_one_line(words: list[str], status: int, says: str, start: Start) -> None:
    done = start("desk", "remote", *words)
    assert done.returncode == status and says in done.stderr and done.stderr.count("\n") == 1
