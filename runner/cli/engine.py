"""Verbs that work on the emulated board alone."""

from __future__ import annotations

import importlib

from portbench.boards import BoardUnavailable


def needs_engine() -> None:
    """Raises BoardUnavailable where the emulated board's engine is not built, or damaged."""
    try:
        importlib.import_module("portbench._engine")
    except ModuleNotFoundError:
        raise BoardUnavailable(
            "the emulated board's engine is not built; install Rust (rustup), then run: make build"
        ) from None
    except ImportError as error:
        raise BoardUnavailable(f"the emulated board's engine is damaged ({error}); run: make build") from error
