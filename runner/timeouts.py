"""The stages of a measured run, and how long each may take."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """What a run goes through, in this order."""

    IMAGE = "image"
    OPEN = "open"
    FLASH = "flash"
    CONSOLE = "console"
    IDENTIFY = "identify"
    DEPLOY = "deploy"
    READY = "ready"
    RUN = "run"


DEFAULT_S: dict[Stage, float] = {
    Stage.OPEN: 30,
    Stage.FLASH: 120,
    Stage.CONSOLE: 60,
    Stage.IDENTIFY: 30,
    Stage.DEPLOY: 120,
    Stage.READY: 30,
    Stage.RUN: 600,
}
"""Seconds of host time. IMAGE is not here: a download has a limit of its own (`firmware.download`).

READY is the client's own limit, in its board's time, and RUN includes it. The slowest published row, official
MicroPython 1.20.0, takes 259 s.
"""
