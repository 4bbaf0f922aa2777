"""What keeps `portbench desk remote` from serving a console; test_desk.py has one that is served."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Start


@pytest.mark.parametrize(
    ("device", "says"),
    [("usb:nowhere", "no board usb:nowhere; plug it in"), ("what", "is none of auto, id:SERIAL")],
)
def test_a_board_that_is_not_there_is_one_line(device: str, says: str, start: Start) -> None:
    done = start("desk", "remote", "--device", device)
    assert done.returncode == 1 and says in done.stderr and done.stderr.count("\n") == 1
