"""Rows and the fixture need nothing that only POSIX systems have."""

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from tests import patience

ROOT: Final = Path(__file__).parents[2]
LACKING: Final = """
import os, socket, sys
import filelock, mpremote.transport_serial, psutil  # which have what they need on each system

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "pty", "termios", "tty"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
for name in ("fcntl", "termios"):
    sys.modules.pop(name, None)
del socket.AF_UNIX, os.fork, os.symlink
"""
"""`sitecustomize`, which Python imports first."""

FIXTURE: Final = [f"tests/testing/test_{name}.py" for name in ("board", "parts", "plugin")]
"""The board, files from the cache of libraries, and the files of a failure."""

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["portbench", "run", "--where=emulated", "--runtime=portbench-native", "--runs=1"], "4573.2 messages/s"),
        (["portbench", "flash", "workloads/ping_pong/native.uf2", "--where=emulated"], "frames sent"),
        (["pytest", "-n0", "-q", "-p", "no:cacheprovider", *FIXTURE], " passed"),
        (["portbench", "desk"], "a desk needs pseudo-terminals, which this operating system has not"),
    ],
    ids=["a row", "flash", "the fixture", "a desk"],
)
def test_it_works_without_what_windows_lacks(command: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(LACKING)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    results = [f"--results-dir={tmp_path}", "--setting=seed=fixed"] if "run" in command else []
    done = patience.run([sys.executable, "-m", *command, *results], 300, cwd=ROOT, env=environment)
    assert says in done.stdout + done.stderr, done.stdout + done.stderr
    assert done.returncode == (command[1] == "desk"), done.stdout + done.stderr
