"""The sources of the native firmware."""

from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[3]
SOURCES: Final = PROJECT / "firmware" / "native"
BODY: Final = PROJECT / "workloads" / "ping_pong" / "native"
BOARDS: Final = PROJECT / "boards" / "definitions"
