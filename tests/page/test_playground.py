"""The playground in headless browsers: boards that boot, rows that equal the command's, files that are torn or hostile.

`make test-playground` and `.ci/run` run them: first the engine is compiled for WebAssembly. The page is built once, and
each browser is started once for all tests without an image.
"""

import functools
import http.server
import json
import os
import re
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Replay
from portbench.results.model import Row
from portbench.results.storage import read
from tests.conftest import Image
from tests.golden.test_golden_rows import GOLDEN, run_lengths
from tests.page.conftest import Look, Shared

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
BOARD: Final = "W5500_EVB_PICO"
CLIENT: Final = ROOT / "workloads" / "ping_pong" / "native.uf2"
MESSAGES: Final = 1000
BROWSERS: Final = ("chromium", "firefox")
DONE: Final = "Done. The run file is for portbench show and portbench compare."
MOST_MB: Final = 128

# The build is in the first test, and waits until cargo has compiled all other tests: half an hour on a slow machine.
pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.timeout(3000)]


@pytest.fixture(scope="session")
def folder(tool: ModuleType, look: Look, shared: Shared) -> Path:
    """The page's files; skips where Rust cannot compile for WebAssembly."""
    if os.environ.get("PORTBENCH_TEST_PLAYGROUND") != "1":
        pytest.skip("the page is not built for all tests; run: make test-playground")
    if tool.cargo() is None:
        pytest.skip(tool.NO_TARGET)
    return shared("playground", functools.partial(tool.build, profile="web-test"))


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    """A server of the page."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def translate_path(self, path: str) -> str:
            """The page is in two folders: one as GitHub Pages has it, and one that is isolated."""
            return super().translate_path(re.sub(r"^/(isolated|portbench/try)/", "/", path))

        def end_headers(self) -> None:
            """The browser tells only an isolated page how much memory it takes."""
            if self.path.startswith("/isolated/"):
                self.send_header("Cross-Origin-Opener-Policy", "same-origin")
                self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            super().end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/isolated/index.html"
    server.shutdown()
    thread.join()
    server.server_close()


def guest(code: bytes) -> bytes:
    """The client's file with `code` behind its boot loader: a vector table first."""
    blocks = bytearray(CLIENT.read_bytes())
    for at in range(512, len(blocks), 512):
        blocks[at + 32 : at + 288] = code[at // 2 - 256 : at // 2].ljust(256, b"\xde")
    return bytes(blocks)


SPINS: Final = struct.pack("<IIH", 0x2004_2000, 0x1000_0109, 0xE7FE)


@pytest.fixture(scope="session", params=BROWSERS)
def found(
    look: Look, address: str, shared: Shared, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Any]:
    """Return what a browser shows without any image of a runtime."""
    browser: str = request.param
    files = tmp_path_factory.mktemp("files")
    (files / "torn.uf2").write_bytes(CLIENT.read_bytes()[:-100])
    far = bytearray(CLIENT.read_bytes())
    struct.pack_into("<I", far, 512 + 12, 0xFFFF_FF00)
    (files / "far.uf2").write_bytes(far)
    (files / "hostile.uf2").write_bytes(guest(b""))
    (files / "spins.uf2").write_bytes(guest(SPINS))
    changed = bytearray(CLIENT.read_bytes())
    changed[512 + 32 + 400] ^= 1  # behind the block's payload: another file, the same program
    (files / "mine.uf2").write_bytes(changed)
    (files / "mine.py").write_text("print('mine')\n", encoding="utf-8")
    tasks: list[object] = ["sight", *(files / name for name in ("torn.uf2", "far.uf2", "hostile.uf2", "spins.uf2"))]
    tasks += [files / "mine.py", "+", "looks", "+", "hosted", "+", "measure", "", "-", files / "mine.uf2"]

    def use(folder: Path) -> None:
        folder.mkdir()
        (folder / "found.json").write_text(
            json.dumps(look("playground.mjs", address, *tasks, browser=browser)), encoding="utf-8"
        )

    kept = (shared(f"playground-{browser}", use) / "found.json").read_text(encoding="utf-8")
    return {**json.loads(kept), "browser": browser}


def test_its_row_equals_the_commands(found: dict[str, Any]) -> None:
    from portbench_engine import flash_of_image

    flash = flash_of_image(CLIENT.read_bytes(), "RP2040")
    replay = Replay(board_definition(BOARD), EmulatedConfig(), flash, "ping_pong", {"messages": MESSAGES})
    figures = replay.run(Deadline(120, "the native client"))
    assert found["report"] == figures.result
    total_us = figures.result["total_us"]
    assert found["said"] == f"{MESSAGES} messages in {total_us} us: {MESSAGES / total_us * 1e6:.1f} messages/s"


def test_code_that_is_compiled_does_what_interpreted_code_does(packages: None, folder: Path) -> None:
    """A browser may refuse to compile it."""
    settings = json.dumps(EmulatedConfig().settings(board_definition(BOARD)))
    command = ["node", "engine.mjs", folder / "engine.wasm", folder / "RP2040.rom", CLIENT, settings]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    compiled, interpreted = json.loads(done.stdout)
    assert compiled.pop("modules") > interpreted.pop("modules") == 0
    assert compiled == interpreted
    assert json.loads(compiled["report"])["total_us"] > 0


def test_it_asks_no_other_host_and_says_nothing_on_the_console(found: dict[str, Any]) -> None:
    own = found["requests"][0].partition("/isolated/")[0]
    assert found["console"] == []
    assert {url for url in found["requests"] if not url.startswith((own, "blob:", "data:"))} == set(found["far"])


def test_the_menu_fetches_an_image_and_boots_it_with_its_hash_only(found: dict[str, Any]) -> None:
    """The page is in a folder, and not isolated, as GitHub Pages serves it."""
    assert found["unknown_board"] == "No board of this page is called NO_SUCH; choose one of the menu."
    assert found["menu"] == ["ping-pong client in C", "good-1, by Tester", "wrong-1, by Tester", "closed-1, by Tester"]
    booted, wrong, closed = found["chosen"]
    assert booted == "Raspberry Pi Pico runs good.uf2."
    assert "wrong.uf2 is not wrong-1, and is not booted: its SHA-256 begins with " in wrong
    assert closed == [
        "This page cannot fetch closed-1 from firmware.test; download it and drop it here: closed.uf2",
        "https://firmware.test/closed.uf2",
    ]
    assert found["kept"] == ["good-1", True]


def test_a_lesson_is_one_link(found: dict[str, Any]) -> None:
    """The board comes from the image, and the image from the menu. The client in C has no prompt to take the script."""
    assert found["lesson"] == ["RPI_PICO", "good-1", "print('far')\n", "view-console"]


def test_files_that_cannot_run_are_told_in_one_line_and_the_page_lives_on(found: dict[str, Any]) -> None:
    assert found["refused"] == [
        "27548 bytes are no UF2 file: its size is a multiple of 512",
        "block 1 has 256 bytes for 0xffffff00, which is not in flash",
    ]
    assert found["hostile"].startswith("The board stopped: core 0 locked up at pc 0xdededede")


def test_a_guest_that_spins_does_not_block_the_page(found: dict[str, Any]) -> None:
    assert found["spun"] == "print('mine')\n"  # the page took a script while it spun


def test_a_link_has_board_image_script_and_settings(found: dict[str, Any]) -> None:
    *fields, link = found["link"]
    assert fields == ["tuned", "1", "500"]
    chosen = ("workload=ping_pong", "profile=tuned", "seed=1", "setting=messages%3D500")
    for part in (f"board={BOARD}", *chosen, "far.uf2"):
        assert part in link
    assert found["linked_report"] == found["report"]
    assert found["linked_script"] == ["main.py", "print('far')\n"]


def test_nothing_moves_and_memory_is_small(found: dict[str, Any]) -> None:
    """Chromium alone tells of shifts, and of the scripts' memory after a measurement, without WebAssembly's."""
    assert found.get("shifts", 0) == 0
    assert 0 < found["memory_mb"] + found.get("scripts_mb", 0) < MOST_MB


def test_it_fits_every_screen_and_axe_finds_nothing(found: dict[str, Any]) -> None:
    schemes = ("light",) if found["browser"] == "firefox" else ("light", "dark")
    assert [(each["width"], each["colorScheme"], each["view"]) for each in found["looks"]] == [
        (width, scheme, view)
        for width in (360, 1440)
        for scheme in schemes
        for view in ("console", "drive", "network", "pins", "measure")
    ]
    backgrounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}
    for each in found["looks"]:
        assert (each["overflow_px"], each["violations"]) == (0, []), each
        assert each["background"] == backgrounds[each["colorScheme"]]
        assert each["width"] > 360 or each["order"] == sorted(each["order"])  # on a phone the console comes first


def test_a_board_that_waits_is_drawn_once_a_second(found: dict[str, Any]) -> None:
    count, seconds = found["updates"]
    assert 1 <= count <= seconds + 2


def test_a_keyboard_leaves_the_console(found: dict[str, Any]) -> None:
    assert found["left_to"] == "tab-console"


def test_traffic_is_decoded(found: dict[str, Any]) -> None:
    assert found["protocols"] and set(found["protocols"]) <= {"ARP", "DHCP", "ICMP", "TCP", "UDP"}
    assert found["rows_after_clear"] == 0
    said = re.match(r"Recorded from the start: (\d+) of (\d+) frames, (\d+) of (\d+) transfers;", found["recorded"])
    assert said is not None and 0 < int(said[1]) <= int(said[2]) and 0 < int(said[3]) <= int(said[4])


def test_a_board_without_a_socket_has_no_cable(found: dict[str, Any]) -> None:
    assert found["cables"] == [True, False, True]


def test_it_works_without_a_network_once_it_was_loaded(found: dict[str, Any]) -> None:
    if found["browser"] == "firefox":
        pytest.skip("WebDriver BiDi cannot take Firefox off the network")
    assert found["offline"]


def test_the_bits_of_spi_are_shown(found: dict[str, Any]) -> None:
    """At no more than 33 MHz, as the W5500 takes it."""
    said = re.search(r"(\d+) bytes on the SPI wires", found["wires"])
    assert said is not None and 1 <= int(said[1]) <= 10 * 33 // 8 + 1


def test_the_boot_loader_takes_an_image_from_its_drive(found: dict[str, Any]) -> None:
    assert found["copied_report"] == found["report"]


def test_files_of_the_boot_loader_are_named_as_such(found: dict[str, Any]) -> None:
    """The C client ends there; a power cycle takes its drive away."""
    assert found["ended_says"] == "The board is in its boot loader: these files are its own, and it takes a .uf2."
    assert found["script_refused"].startswith("main.py: the board is in its boot loader, which takes a .uf2 only")
    assert found["restarted_says"] == ""


def test_a_step_is_a_millisecond(found: dict[str, Any]) -> None:
    assert found["stepped_s"] == pytest.approx(0.001)


def golden_row(found: dict[str, Any], folder: Path, runtime: str) -> Row:
    """The measured row of `runtime`, after it was compared with the golden one."""
    (golden,) = (row for row in GOLDEN if (row["runtime"], row["profile"]) == (runtime, "tuned"))
    kept = folder / "run.json"
    kept.write_text(found["run"], encoding="utf-8")
    row = next(row for row in read(kept).rows if row.runtime == runtime)
    assert row.sim is not None and row.attribution is not None
    assert (row.figures["total_us"], row.figures["ready_us"]) == (golden["total_us"], golden["ready_us"])
    assert row.samples["round_trip_us"] == run_lengths(golden["round_trip_us"])
    assert row.sim.flash_sha256 == golden["flash_sha256"]
    assert {name: row.sim.counters[name] for name in golden["counters"]} == golden["counters"]
    assert "messages/s" in found["shown"] and found["drawings"] > 10
    return row


def test_two_images_are_measured_and_the_row_is_the_golden_one(found: dict[str, Any], tmp_path: Path) -> None:
    assert found["stage"] == DONE
    assert "portbench-native tuned ping_pong: measuring, once more for where the time goes" in found["stages"]
    assert any(re.fullmatch(r"\d+\.\d\d s on the board, \d+ s here", each) for each in found["stages"])
    golden_row(found, tmp_path, "portbench-native")
    (other,) = (row for row in read(tmp_path / "run.json").rows if "mine" in row.runtime)
    assert other.figures["messages_per_s"] > 1000
    assert [row["settings"]["messages"] for row in found["short_run"]["rows"]] == [20, 20]


WITH_IMAGES: Final = [
    ("prompt", "micropython-1.28.0", ()),
    ("drive", "circuitpython-9.1.4", ()),
    ("measure", "micropython-1.26.0", ("tuned",)),
]


@pytest.mark.parametrize("browser", BROWSERS)
@pytest.mark.parametrize(("task", "runtime", "given"), WITH_IMAGES, ids=[task for task, *_ in WITH_IMAGES])
def test_with_an_image(
    look: Look,
    address: str,
    image: Image,
    tmp_path: Path,
    browser: str,
    task: str,
    runtime: str,
    given: tuple[str, ...],
) -> None:
    """MicroPython's prompt, which also keeps a file; a file on CircuitPython's drive runs; a measured row."""
    found = look("playground.mjs", address, task, *given, image(runtime), browser=browser)
    assert found["console"] == []
    if task == "measure":
        assert found["stage"] == DONE
        golden_row(found, tmp_path, runtime)
    elif task == "drive":
        assert found["drive"]
    else:
        assert found["prompt_after"][-2:] == ["42", ">>>"]
        at = found["prompt_run"].index("MPY: soft reboot")  # the first rows may have left the console
        assert found["prompt_run"][at - 2 : at + 2] == ["42", ">>>", "MPY: soft reboot", "saved 48"]
        assert found["lesson"][2:5] == [">>>", "MPY: soft reboot", "far"]
        assert found["idle_mips"] < 5  # a board that waits costs little: a busy one has 90
