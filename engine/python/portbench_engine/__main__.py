"""Saves the boot ROM for programs in Rust, and prints its file: `python -m portbench_engine`."""

import sys

from portbench_engine import EngineError
from portbench_engine.boot_rom import save

try:
    print(save())
except (EngineError, OSError) as error:
    sys.exit(f"portbench_engine: {error}")
