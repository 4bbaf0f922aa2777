"""Compiles an Arduino sketch for an ATmega2560 with Debian's compiler and core, and pinned libraries.

python -m portbench.clients.arduino SKETCH.ino OUTPUT.hex
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from portbench.clients.libraries import driver_files, pinned_drivers
from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder, replace_file

CORE: Final = Path("/usr/share/arduino/hardware/arduino/avr")
COMPILER: Final = "avr-gcc"
INSTALL: Final = "apt-get install --no-install-recommends gcc-avr avr-libc arduino-core-avr"
PINS: Final = Path(__file__).with_name("arduino_libraries.toml")
_DOWNLOAD_S: Final = 60.0
_COMPILE_S: Final = 120.0
# As Arduino's platform.txt has them, and as its boards.txt defines the Mega 2560.
_FLAGS: Final = (
    *("-mmcu=atmega2560", "-DF_CPU=16000000L", "-DARDUINO=10819", "-DARDUINO_AVR_MEGA2560", "-DARDUINO_ARCH_AVR"),
    *("-w", "-Os", "-std=gnu++11", "-fpermissive", "-fno-exceptions", "-fno-threadsafe-statics", "-flto"),
    *("-ffunction-sections", "-fdata-sections", "-fuse-linker-plugin", "-Wl,--gc-sections"),
    "-DDECIMAL_DIG=__DECIMAL_DIG__",  # WString.cpp uses it, and avr-gcc 5's float.h has it for C alone
)


def compile_sketch(sketch: Path, output: Path, libraries: Mapping[str, bytes] | None = None) -> None:
    """Compile `sketch` into the Intel HEX file `output`. `libraries`: files by path; None: those that are pinned.

    Raises PortbenchError, where something is missing with the line that installs it.
    """
    if shutil.which(COMPILER) is None or not CORE.is_dir():
        missing = COMPILER if shutil.which(COMPILER) is None else str(CORE)
        raise PortbenchError(f"{missing} is missing; install it: {INSTALL}")
    if libraries is None:
        cache = user_cache_path("portbench") / "arduino"
        libraries = driver_files(pinned_drivers(PINS), _DOWNLOAD_S, cache=cache, pins=PINS)
    with TemporaryFolder("portbench-arduino") as folder:
        for name, content in libraries.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        program = folder / "sketch.cpp"
        program.write_text(f"#include <Arduino.h>\n#line 1\n{sketch.read_text(encoding='utf-8')}", encoding="utf-8")
        elf, hex_file = folder / "sketch.elf", folder / "sketch.hex"
        core, variant, spi = CORE / "cores/arduino", CORE / "variants/mega", CORE / "libraries/SPI/src"
        places = [core, variant, spi, *(path for path in folder.iterdir() if path.is_dir())]
        sources = [*spi.glob("*.cpp"), *folder.rglob("*.cpp")]
        sources += [path for path in core.iterdir() if path.suffix in (".c", ".cpp", ".S")]
        command = [COMPILER, *_FLAGS, *(f"-I{place}" for place in places), "-o", str(elf)]
        command += map(str, sorted(sources))
        _run(command)
        _run(["avr-objcopy", "-O", "ihex", "-R", ".eeprom", str(elf), str(hex_file)])
        replace_file(output, hex_file.read_bytes())


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_S, check=False)
    except subprocess.TimeoutExpired:
        raise PortbenchError(f"{command[0]} was still busy after {_COMPILE_S:g} s; compile again") from None
    if done.returncode:
        raise PortbenchError(f"{command[0]}: {(done.stderr or done.stdout).strip().splitlines()[0]}")


def main() -> int:
    """The command line; its status."""
    if len(sys.argv) != 3:
        print(f"usage: python -m {__spec__.name} SKETCH.ino OUTPUT.hex", file=sys.stderr)
        return 2
    try:
        compile_sketch(Path(sys.argv[1]), Path(sys.argv[2]))
    except (PortbenchError, OSError) as error:
        print(f"portbench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
