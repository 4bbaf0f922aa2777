"""The committed server is what its sources give."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.boards.desk.forward.conftest import SERVER
from tests.building import needs_compiler

RECORD = json.loads(SERVER.with_suffix(".json").read_text())
PROJECT = Path(__file__).parents[4]
COMPILER = "arm-none-eabi-gcc"


def test_the_record_is_of_this_image() -> None:
    assert hashlib.sha256(SERVER.read_bytes()).hexdigest() == RECORD["sha256"]


@pytest.mark.slow
def test_a_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    needs_compiler(COMPILER, RECORD["compiler"])
    made = ["make", "-s", "-C", str(PROJECT / "firmware" / "native"), f"PYTHON={sys.executable}"]
    made += [f"FOLDER={SERVER.parent}", f"BUILD={tmp_path / 'build'}", f"OUTPUT={tmp_path}"]
    subprocess.run(made, check=True)
    assert (tmp_path / SERVER.name).read_bytes() == SERVER.read_bytes()
