"""Sketches compiled with Debian's tools and pinned libraries."""

import shutil
from pathlib import Path

import pytest

from portbench.clients import arduino
from portbench.clients.libraries import pinned_drivers
from portbench.errors import PortbenchError

BLINK = "void setup() { pinMode(13, OUTPUT); }\nvoid loop() { digitalWrite(13, millis() & 1); }\n"


def test_the_library_is_pinned_file_by_file() -> None:
    pins = pinned_drivers(arduino.PINS)
    assert {"Ethernet/Ethernet.h", "Ethernet/utility/w5100.cpp"} <= {pin.file for pin in pins.values()}
    assert {pin.version for pin in pins.values()} == {"2.0.2"} and all(len(pin.sha256) == 64 for pin in pins.values())


def test_what_is_missing_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PortbenchError, match=r"^avr-gcc is missing; install it: apt-get install .* arduino-core-avr$"):
        arduino.compile_sketch(tmp_path / "a.ino", tmp_path / "a.hex")
    assert not (tmp_path / "a.hex").exists()


@pytest.mark.slow
def test_a_sketch_becomes_intel_hex(tmp_path: Path) -> None:
    if shutil.which(arduino.COMPILER) is None or not arduino.CORE.is_dir():
        pytest.skip(f"avr-gcc or Arduino's core is not installed; install them with: {arduino.INSTALL}")
    sketch, output = tmp_path / "blink.ino", tmp_path / "blink.hex"
    sketch.write_text(BLINK)
    arduino.compile_sketch(sketch, output, {})
    assert output.read_text().startswith(":100000000C94") and output.read_text().endswith(":00000001FF\n")
    sketch.write_text("void setup() {\nmistake;\n}\n")
    output.unlink()
    with pytest.raises(PortbenchError, match=r"^avr-gcc: "):
        arduino.compile_sketch(sketch, output, {})
    assert not output.exists()
