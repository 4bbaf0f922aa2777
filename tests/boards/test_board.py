"""What all boards share."""

from __future__ import annotations

import pytest

from portbench.boards import Deployment


def test_files_may_lie_in_folders() -> None:
    assert Deployment({"code.py": b"", "lib/a/b.py": b""}, "circuitpython").files.keys() == {"code.py", "lib/a/b.py"}


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "lib/../../x", "", "lib\\x"])
def test_files_stay_below_the_boards_root(name: str) -> None:
    with pytest.raises(ValueError, match="is not a path below the board's root"):
        Deployment({name: b""}, "micropython")
