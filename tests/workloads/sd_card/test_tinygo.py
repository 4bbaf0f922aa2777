"""The program of docs/how-to-play.md in TinyGo, built by the `tinygo` in PATH, on the emulated card."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from portbench.testing import Board

pytestmark = [pytest.mark.engine, pytest.mark.slow]
SOURCE = Path(__file__).parents[3] / "docs" / "how-to-play" / "tinygo"
PUBLISHED_NS = 1750
"""From byte to byte, TinyGo's own loop on a Pico under a logic analyser."""
BY_0_25_0 = {"z": (1752, 584), "2": (744, 304)}
"""Nanoseconds between bytes read and written, by the level of optimisation; TinyGo's default is z."""


@pytest.mark.parametrize("level", BY_0_25_0)
def test_the_gap_between_bytes_is_the_compilers(level: str, tmp_path: Path) -> None:
    if (tinygo := shutil.which("tinygo")) is None:
        pytest.skip("tinygo is not in PATH; install a release of TinyGo (docs/how-to-play.md)")
    image = tmp_path / "sd.uf2"
    build = [tinygo, "build", "-target=pico", "-serial=uart", f"-opt={level}", f"-o={image}", "."]
    subprocess.run(build, cwd=SOURCE, check=True, timeout=1800)
    board = Board("RPI_PICO", sd_card={"kind": "samsung-evo-plus-32gb", "state": "sound", "seed": 1})
    uart = board.uart(0)
    board.flash(image)
    said = uart.expect(r"(?s).*read \d+ KB/s.*?\n", within_s=90)[0].decode()
    stats = board._simulation.machine.stats()
    gaps_ns = stats["sd_read_gap_median_ns"], stats["sd_write_gap_median_ns"]
    print(f"-opt {level}: {gaps_ns} ns\n{said}")
    assert "differs" not in said and re.search(r"write \d+ KB/s", said)
    version = subprocess.run([tinygo, "version"], check=True, capture_output=True, text=True, timeout=60).stdout
    if "version 0.25.0 " in version:
        assert gaps_ns == BY_0_25_0[level]
    if level == "z" and "version 0.25.0 " in version:
        assert gaps_ns[0] == pytest.approx(PUBLISHED_NS, rel=0.01)
