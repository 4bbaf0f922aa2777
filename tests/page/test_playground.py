"""The playground in headless Chromium: boards that boot, rows that equal the command's, and files that are torn."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Replay
from portbench.results.storage import read
from tests.conftest import Image
from tests.golden.test_golden_rows import GOLDEN, run_lengths
from tests.page.conftest import Look

ROOT: Final = Path(__file__).parents[2]
BOARD: Final = "W5500_EVB_PICO"
MESSAGES: Final = 1000

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def address(look: Look, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the page; skips where Rust cannot compile for WebAssembly."""
    spec = importlib.util.spec_from_file_location("web_build", ROOT / "engine" / "web" / "build.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    if not tool.has_target():
        pytest.skip(f"Rust cannot compile for WebAssembly here; run: rustup target add {tool.TARGET}")
    folder = tmp_path_factory.mktemp("playground")
    tool.build(folder)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def found(look: Look, address: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    torn = tmp_path_factory.mktemp("torn") / "torn.uf2"
    torn.write_bytes((ROOT / "workloads" / "ping_pong" / "native.uf2").read_bytes()[:-100])
    return look("playground.mjs", address, torn)


def test_its_row_equals_the_commands(found: dict[str, Any]) -> None:
    from portbench_engine import flash_of_image

    flash = flash_of_image((ROOT / "workloads" / "ping_pong" / "native.uf2").read_bytes(), "RP2040")
    replay = Replay(board_definition(BOARD), EmulatedConfig(), flash, "ping_pong", {"messages": MESSAGES})
    figures = replay.run(Deadline(120, "the native client"))
    assert found["report"] == figures.result
    total_us = figures.result["total_us"]
    assert found["said"] == f"{MESSAGES} messages in {total_us} us: {MESSAGES / total_us * 1e6:.1f} messages/s"


def test_it_asks_nobody_and_says_nothing_on_the_console(found: dict[str, Any], address: str) -> None:
    own = address.rpartition("/")[0]
    assert found["console"] == []
    assert [url for url in found["requests"] if not url.startswith(own)] == []


def test_a_torn_image_is_told_in_one_line(found: dict[str, Any]) -> None:
    assert found["torn"] == "27548 bytes are no UF2 file: its size is a multiple of 512"


def test_it_fits_every_screen_and_axe_finds_nothing(found: dict[str, Any]) -> None:
    assert [(each["width"], each["colorScheme"], each["view"]) for each in found["looks"]] == [
        (width, scheme, view)
        for width in (360, 1440)
        for scheme in ("light", "dark")
        for view in ("console", "drive", "network", "pins", "measure")
    ]
    for each in found["looks"]:
        assert (each["overflow_px"], each["violations"]) == (0, []), each
    assert found["protocols"] and set(found["protocols"]) <= {"ARP", "DHCP", "ICMP", "TCP", "UDP"}
    backgrounds = {each["colorScheme"]: each["background"] for each in found["looks"]}
    assert backgrounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}


def test_it_works_without_a_network_once_it_was_loaded(found: dict[str, Any]) -> None:
    assert found["offline"]


def test_a_step_is_a_millisecond(found: dict[str, Any]) -> None:
    assert found["stepped_s"] == pytest.approx(0.001)


def test_micropython_answers_at_its_prompt_and_keeps_a_file(look: Look, address: str, image: Image) -> None:
    found = look("playground.mjs", address, "prompt", image("micropython-1.28.0"))
    assert (found["prompt"], found["console"]) == (True, [])


def test_circuitpython_runs_what_is_saved_on_its_drive(look: Look, address: str, image: Image) -> None:
    found = look("playground.mjs", address, "drive", image("circuitpython-9.1.4"))
    assert (found["drive"], found["console"]) == (True, [])


@pytest.mark.parametrize("runtime", ["portbench-native", "micropython-1.26.0"])
def test_a_measured_row_is_the_golden_one(look: Look, address: str, image: Image, tmp_path: Path, runtime: str) -> None:
    (golden,) = (row for row in GOLDEN if (row["runtime"], row["profile"]) == (runtime, "tuned"))
    chosen = [] if runtime == "portbench-native" else [image(runtime)]
    found = look("playground.mjs", address, "measure", "tuned", *chosen)
    assert found["stage"] == "Done. The run file is for portbench show and portbench compare."
    kept = tmp_path / "run.json"
    kept.write_text(found["run"], encoding="utf-8")
    (row,) = read(kept).rows
    assert row.sim is not None and row.attribution is not None
    assert (row.runtime, row.figures["total_us"], row.figures["ready_us"]) == (
        runtime,
        golden["total_us"],
        golden["ready_us"],
    )
    assert row.samples["round_trip_us"] == run_lengths(golden["round_trip_us"])
    assert row.sim.flash_sha256 == golden["flash_sha256"]
    assert {name: row.sim.counters[name] for name in golden["counters"]} == golden["counters"]
    assert "messages/s" in found["shown"] and found["drawings"] > 10
    assert found["link"] == f"?board={BOARD}&workload=ping_pong&profile=tuned&seed=fixed"
    assert found["console"] == []
    assert [url for url in found["requests"] if not url.startswith((address.rpartition("/")[0], "blob:"))] == []
