"""The bodies in C of all workloads: their images are what the sources make, and their rows are exact."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.results.model import Status
from portbench.workloads import workload, workloads
from tests.measuring import rows_of
from tests.native.emulated import SOURCES

COMPILER = "arm-none-eabi-gcc"
BODIES = [name for name, each in workloads().items() if (each.folder / "native.uf2").is_file()]


def record(name: str) -> dict[str, str]:
    read: dict[str, str] = json.loads((workload(name).folder / "native.json").read_text())
    return read


@pytest.mark.parametrize("name", BODIES)
def test_the_record_is_of_this_image(name: str) -> None:
    image = workload(name).folder / "native.uf2"
    assert hashlib.sha256(image.read_bytes()).hexdigest() == record(name)["sha256"]
    assert image.stat().st_size < 40_000  # all of them are in every clone


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_a_rebuild_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None or shutil.which("make") is None:
        pytest.skip(f"{COMPILER} or make is not installed; run: sudo .ci/install-system-packages")
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    if version != record(name)["compiler"]:
        pytest.skip(f"the image was built with {record(name)['compiler']}, installed is {version}")
    command = ["make", "-s", "-C", f"{SOURCES}", f"WORKLOAD={name}", f"PYTHON={sys.executable}"]
    subprocess.run([*command, f"BUILD={tmp_path}", f"OUTPUT={tmp_path}"], check=True)
    assert (tmp_path / "native.uf2").read_bytes() == (workload(name).folder / "native.uf2").read_bytes()


EXACT: dict[str, list[tuple[dict[str, Any], dict[str, float]]]] = {
    "bulk": [
        (
            {"transfer_bytes": 8192, "writes": "1,1460,16384"},
            {"up_1_us": 1810, "echo_1460_us": 6741, "up_16384_us": 5739, "down_16384_us": 5696},
        )
    ],
    "duplex": [({"transfer_bytes": 8192, "writes": "16,4096"}, {"both_16_us": 7142, "both_4096_us": 5007})],
    "fill": [({"buffers": 3, "fills": 5}, {"fill_bytes_ns_per_pass": 45.182, "fill_port_ns_per_pass": 60.207})],
    "http": [
        ({"requests": 5}, {"completed": 5, "failed": 0, "duration_us": 3625.377}),
        # Two find none of its seven sockets free, and try again.
        ({"requests": 9, "page": "dynamic", "at_once": 8}, {"completed": 9, "failed": 0, "refused_attempts": 2}),
        ({"requests": 6, "keep_alive": 3}, {"completed": 6, "board_faults": 0, "duration_us": 2956.265}),
    ],
    "server": [({"messages": 12}, {"total_us": 2586.376, "connect_us": 142})],
    # The native client with another one, whose body is this workload's.
    "two_boards": [({"messages": 20}, {"total_us": 1184, "first_us": 173, "server_ready_us": 1_505_238})],
    "udp": [
        (
            {"sizes": "2,1472", "count": 5, "rates_kbit_s": "2000,50000"},
            {"up_2_us": 112, "up_2_came": 5, "up_1472_us": 2101, "down_2000_us": 23_552, "down_50000_us": 1951},
        )
    ],
}


@pytest.mark.engine
@pytest.mark.parametrize("name", EXACT)
def test_rows_are_exact(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [asked for asked, _ in EXACT[name]]
    rows = rows_of(workload(name), "portbench-native", tmp_path, monkeypatch, *settings)
    for row, (_, expected) in zip(rows, EXACT[name], strict=True):
        assert row.status is Status.MEASURED, row.reason
        assert {figure: round(row.figures[figure], 3) for figure in expected} == expected
