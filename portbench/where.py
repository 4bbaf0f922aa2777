"""The place of a measurement, shared by boards, rows and tables."""

from enum import StrEnum


class Where(StrEnum):
    """On what; rows of different kinds are never ranked together."""

    SILICON = "silicon"
    EMULATED = "emulated"
    HOSTED = "hosted"
