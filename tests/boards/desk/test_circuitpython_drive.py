"""CIRCUITPY as a PC sees it: the guest reads the copied files."""

import hashlib
import random
from pathlib import Path

import pytest

from portbench.boards.registry import read_state
from tests.boards.desk.conftest import Started
from tests.boards.emulated.conftest import within

pytestmark = pytest.mark.engine

READ_BACK = b"""
import hashlib, json, supervisor
while not supervisor.runtime.serial_connected:
    pass
h = hashlib.new("sha1")
size = 0
with open("/big.bin", "rb") as file:
    while True:
        block = file.read(4096)
        if not block:
            break
        size += len(block)
        h.update(block)
print("PORTBENCH", json.dumps({"size": size, "sha1": "".join("%02x" % b for b in h.digest())}))
"""


def test_a_file_that_fills_the_drive_is_read_back_by_the_guest(started: Started) -> None:
    board = started("circuitpython-9.1.4", "circuitpython", {"code.py": READ_BACK})
    state = read_state(board.folder)
    assert state is not None and state.volume is not None
    volume = Path(state.volume)
    taken = sum(path.stat().st_size for path in volume.rglob("*") if path.is_file())
    # The 1 MiB drive less its boot sector, FAT, directory and files.
    size = 2008 * 512 - 40_000 - taken
    data = random.Random(1).randbytes(size)
    (volume / "big.bin").write_bytes(data)
    board.control("sync", within(120))
    result = board.run(within(120)).result
    assert result == {"size": size, "sha1": hashlib.sha1(data).hexdigest()}
