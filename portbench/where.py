"""Where a row is measured: the one thing that boards, rows and tables all have to agree on."""

from __future__ import annotations

from enum import StrEnum


class Where(StrEnum):
    """On what; rows of different kinds are never ranked together."""

    SILICON = "silicon"
    EMULATED = "emulated"
    HOSTED = "hosted"
