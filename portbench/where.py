"""The place of a measurement, shared by boards, rows and tables."""

from __future__ import annotations

from enum import StrEnum


class Where(StrEnum):
    """On what; rows of different kinds are never ranked together."""

    SILICON = "silicon"
    EMULATED = "emulated"
    HOSTED = "hosted"
