"""Where the boot ROM comes from, for Python and Rust alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable
from portbench.boards.emulated.bootrom import BOOTROM_VARIABLE, bootrom, save


def test_it_is_saved_to_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BOOTROM_VARIABLE, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    path = save()
    assert path == tmp_path / "portbench" / "rp2040-bootrom-b1.bin" and path.read_bytes() == bootrom()
    monkeypatch.setenv(BOOTROM_VARIABLE, str(path))
    assert bootrom() == path.read_bytes()


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.bin"
    monkeypatch.setenv(BOOTROM_VARIABLE, str(other))
    with pytest.raises(BoardUnavailable, match=r"other\.bin: No such file or directory; name the boot ROM's file"):
        bootrom()
    other.write_bytes(bytes(16384))
    with pytest.raises(BoardUnavailable, match=r"other\.bin: not the boot ROM of revision B1; its SHA-256 is 90b3"):
        bootrom()
