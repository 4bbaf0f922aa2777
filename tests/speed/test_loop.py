"""MicroPython's empty loop on the engine, on the chip (by simulated time) and on other emulators."""

import importlib.metadata
import json
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from portbench.boards import BoardDefinition, Deadline, board_definition
from portbench.firmware.boot_roms import boot_rom
from tests import patience
from tests.conftest import Image
from tests.ping_pong import EVB
from tests.speed.loop import LIMIT_S, MICROPYTHON, Figure, LoopSpeed, loops, median

pytestmark = pytest.mark.engine
PICO2: Final = board_definition("W5500_EVB_PICO2")
MICROPYTHON_PICO2: Final = "wiznet-w5500-evb-pico2-1.27.0-preview.85"
RP2040JS: Final = "rp2040js@1.4.1"
HERE: Final = Path(__file__).parent
ITERATIONS: Final = 300_000


@cache
def speed(path: Path, definition: BoardDefinition, iterations: int, runs: int) -> tuple[LoopSpeed, LoopSpeed]:
    """The loop translated and interpreted, which takes the same instructions and the same simulated time."""
    deadline = Deadline(LIMIT_S, "the loop")
    made, plain = (loops(path, definition, deadline, iterations, runs, translated=each) for each in (True, False))
    assert [(each.simulated_s, each.instructions) for each in made] == [
        (each.simulated_s, each.instructions) for each in plain
    ]
    return median(made), median(plain)


@pytest.mark.parametrize(
    ("runtime", "definition", "million_instructions_per_s", "times_real_time"),
    [(MICROPYTHON, EVB, 150, 2), (MICROPYTHON_PICO2, PICO2, 270, 3)],
    ids=["loop", "rp2350"],
)
def test_speed(
    runtime: str,
    definition: BoardDefinition,
    million_instructions_per_s: float,
    times_real_time: float,
    short: bool,
    image: Image,
    figure: Figure,
) -> None:
    what = f"{runtime} loop"
    made, plain = speed(image(runtime), definition, *((2000, 1) if short else (ITERATIONS, 3)))
    note = f"{made.iterations} iterations, {made.instructions / 1e6:.1f} M instructions in {made.cpu_s:.2f} s"
    millions = made.instructions_per_s / 1e6
    figure(f"{what}: speed", millions, "M instr/s", at_least=million_instructions_per_s, note=note)
    note = f"the chip: {made.instructions / made.simulated_s / 1e6:.1f} M instr/s"
    times = made.simulated_s / made.cpu_s
    figure(f"{what}: against the chip", times, "x real time", at_least=times_real_time, note=note)
    note = f"{plain.instructions_per_s / 1e6:.1f} M instr/s, {plain.simulated_s:.3f} simulated s either way"
    figure(f"{what}: against interpreting it", plain.cpu_s / made.cpu_s, "x", note=note)


def test_the_loop_is_the_chips(image: Image) -> None:
    deadline = Deadline(LIMIT_S, "the loop")
    short, long = (median(loops(image(MICROPYTHON), EVB, deadline, count, 1)) for count in (1000, 3000))
    per_iteration = (long.instructions - short.instructions) / 2000
    assert 300 < per_iteration < 450  # rp2040py executes 366, see docs/evidence/timing.md
    cycles = (long.simulated_s - short.simulated_s) * 125e6 / 2000
    assert 1.6 * per_iteration < cycles < 4 * per_iteration


def against(figure: Figure, runtime: str, made: LoopSpeed, name: str, at_least: float, command: list[str]) -> None:
    """Compare with another emulator: a command that prints the CPU seconds of as many iterations as its last word."""
    done = patience.run(command, LIMIT_S)
    assert done.returncode == 0, done.stderr
    iterations, seconds = int(command[-1]), json.loads(done.stdout)["seconds"]
    theirs = iterations / seconds
    instructions = theirs * made.instructions / made.iterations / 1e6
    figure(
        f"{runtime} loop: against {name}",
        made.iterations / made.cpu_s / theirs,
        f"x {name}",
        at_least=at_least,
        note=f"{iterations} iterations in {seconds:.2f} s, {instructions:.1f} M instr/s",
    )


@pytest.mark.speed
def test_against_rp2040py(image: Image, figure: Figure) -> None:
    pytest.importorskip("rp2040py", reason=f"rp2040py is not installed; run: {sys.executable} -m pip install rp2040py")
    path = image(MICROPYTHON)
    command = [sys.executable, "-P", str(HERE / "rp2040py_loop.py"), str(path), "20000"]
    made, _ = speed(path, EVB, ITERATIONS, 3)
    against(figure, MICROPYTHON, made, f"rp2040py {importlib.metadata.version('rp2040py')}", 40, command)


@pytest.mark.speed
@pytest.mark.skipif(shutil.which("npm") is None, reason="rp2040js needs node and npm, which are not installed")
def test_against_rp2040js(image: Image, figure: Figure, tmp_path: Path) -> None:
    path = image(MICROPYTHON)
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tmp_path), RP2040JS]
    if (done := patience.run(install, 60)).returncode != 0:
        pytest.skip(f"npm could not install {RP2040JS}: {done.stderr.strip()}")
    script = shutil.copy(HERE / "rp2040js_loop.mjs", tmp_path)  # beside node_modules, where node looks for the package
    rom = tmp_path / "bootrom.bin"
    rom.write_bytes(boot_rom())
    made, _ = speed(path, EVB, ITERATIONS, 3)
    against(figure, MICROPYTHON, made, RP2040JS, 5.5, ["node", str(script), str(path), str(rom), "100000"])


@pytest.mark.speed
@pytest.mark.skipif(shutil.which("node") is None, reason="rp2350js needs node, which is not installed")
def test_against_rp2350js(image: Image, figure: Figure) -> None:
    folder = Path(os.environ.get("PORTBENCH_RP2350JS", "none"))
    if not (folder / "dist" / "esm" / "index.js").is_file():
        pytest.skip(
            "PORTBENCH_RP2350JS names no folder with rp2350js; run: git clone https://github.com/c1570/rp2350js"
            " && cd rp2350js && npm install && npm run build"
        )
    path = image(MICROPYTHON_PICO2)
    version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
    command = ["node", str(HERE / "rp2350js_loop.mjs"), str(folder), str(path), "5000"]
    made, _ = speed(path, PICO2, ITERATIONS, 3)
    against(figure, MICROPYTHON_PICO2, made, f"rp2350js {version}", 50, command)
