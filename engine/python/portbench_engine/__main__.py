"""Saves a boot ROM for programs in Rust, and prints its file: `python -m portbench_engine [RP2040|RP2350]`."""

import sys

from portbench_engine import EngineError
from portbench_engine.boot_rom import save

try:
    print(save(*sys.argv[1:2]))
except (EngineError, OSError, ValueError) as error:
    sys.exit(f"portbench_engine: {error}")
