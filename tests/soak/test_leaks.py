"""Things that are left behind are seen."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.soak.leaks import Leaks


@pytest.mark.slow
def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    leaks = Leaks()
    assert leaks.found([tmp_path]) == []
    master, slave = os.openpty()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="lingerer")
    thread.start()
    (tmp_path / "forgotten").touch()
    try:
        found = leaks.found([tmp_path])
        assert {line.split()[0] for line in found} == {"port", "process", "thread", "file"}
        assert f"port {os.ttyname(slave)}" in leaks.terminals()
        assert not any(line.startswith("process") for line in leaks.found([tmp_path], {child.pid}))
        assert Leaks().found([]) == [], "these were there before"
    finally:
        release.set()
        thread.join()
        child.kill()
        child.communicate()
        os.close(master)
        os.close(slave)
