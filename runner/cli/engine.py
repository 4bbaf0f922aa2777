"""Verbs that work on the emulated board alone."""

from __future__ import annotations

import importlib.util

from portbench.boards import BoardUnavailable


def needs_engine() -> None:
    """Raises BoardUnavailable where the emulated board's engine is not built."""
    if importlib.util.find_spec("portbench._engine") is None:
        raise BoardUnavailable("the emulated board's engine is not built; install Rust (rustup), then run: make build")
