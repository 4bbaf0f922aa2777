"""Workloads as a user has them, beside portbench and not in it."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
