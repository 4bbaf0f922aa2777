"""The bodies in C of all workloads, and the server: images are what the sources make, and rows are exact."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.workloads import workload, workloads
from tests.boards.desk.forward.conftest import SERVER
from tests.building import needs_compiler
from tests.firmware.native import BOARDS as DEFINITIONS
from tests.firmware.native import SOURCES
from tests.measuring import measured
from tests.ping_pong import NATIVE_IMAGE

COMPILER = "arm-none-eabi-gcc"
BOARDS = {"RP2040": "W5500_EVB_PICO", "RP2350": "W5500_EVB_PICO2"}
IMAGES = sorted([SERVER, *(image for each in workloads().values() for image in each.folder.glob("native*.uf2"))])


def record(image: Path) -> dict[str, str]:
    read: dict[str, str] = json.loads(image.with_suffix(".json").read_text())
    return read


def title(image: Path) -> str:
    return f"{image.parent.name}-{image.stem}"


@pytest.mark.parametrize("image", IMAGES, ids=title)
def test_the_record_is_of_this_image(image: Path) -> None:
    assert hashlib.sha256(image.read_bytes()).hexdigest() == record(image)["sha256"]
    assert image.stat().st_size < 40_000  # all of them are in every clone


REBUILT = [image for image in IMAGES if "rp2350" not in image.stem or image.parent.name in ("ping_pong", "sd_card")]
REBUILT.remove(NATIVE_IMAGE)
"""Images to build again; test_image.py builds that one. The RP2350's two stand for all: the sources are the same."""
OF_BODY = ("body", "config", "main", "report")
"""Objects that see the body's header. Bodies that have no say in the compiler share the others."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("objects")


@pytest.mark.slow
@pytest.mark.parametrize("image", REBUILT, ids=title)
def test_a_rebuild_gives_the_same_bytes(image: Path, shared: Path, tmp_path: Path) -> None:
    needs_compiler(COMPILER, record(image)["compiler"])
    board = DEFINITIONS / f"{BOARDS['RP2350' if 'rp2350' in image.stem else 'RP2040']}.toml"
    command = ["make", "-s", "-C", f"{SOURCES}", f"FOLDER={image.parent.resolve()}", f"PYTHON={sys.executable}"]
    alone = "rp2350" in image.stem or {"native.mk", "server.c"} & {path.name for path in image.parent.rglob("*")}
    for name in OF_BODY:
        (shared / f"{name}.o").unlink(missing_ok=True)
    build = tmp_path if alone else shared
    subprocess.run([*command, f"BUILD={build}", f"OUTPUT={tmp_path}", f"BOARD={board}"], check=True)
    assert (tmp_path / image.name).read_bytes() == image.read_bytes()


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


EXACT_RP2350: dict[str, list[tuple[dict[str, Any], dict[str, float]]]] = {
    "duplex": [({"transfer_bytes": 8192, "writes": "16,4096"}, {"both_16_us": 6233, "both_4096_us": 4012})],
    "fill": [({"buffers": 3, "fills": 5}, {"fill_bytes_ns_per_pass": 30.115, "fill_port_ns_per_pass": 52.669})],
    "ping_pong": [({"messages": 20}, {"total_us": 4466, "ready_us": 1_507_308})],
    "sd_card": [({"file_bytes": 65_536}, {"read_kb_s": 987.434})],
}


@pytest.mark.engine
@pytest.mark.parametrize(
    ("runtime", "name"),
    [*(("portbench-native", name) for name in EXACT), *(("portbench-native-pico2", name) for name in EXACT_RP2350)],
)
def test_rows_are_exact(runtime: str, name: str, tmp_path: Path) -> None:
    cases = (EXACT if runtime == "portbench-native" else EXACT_RP2350)[name]
    settings = [asked for asked, _ in cases]
    rows = measured(tmp_path, workloads=(workload(name),), runtimes=(runtime,), settings=settings)
    for row, (_, expected) in zip(rows, cases, strict=True):
        assert {figure: round(row.figures[figure], 3) for figure in expected} == expected
