"""The emulated board's engine: a check that it is installed, and how to get it."""

from __future__ import annotations

import importlib
from pathlib import Path

from portbench.errors import BoardUnavailable


def needs_engine() -> None:
    """Raises BoardUnavailable where the engine is missing or damaged."""
    try:
        importlib.import_module("portbench_engine")
    except ModuleNotFoundError:
        raise BoardUnavailable(f"the emulated board's engine is missing; {engine_fix()}") from None
    except ImportError as error:
        raise BoardUnavailable(f"the emulated board's engine is damaged ({error}); {engine_fix()}") from error


def engine_fix() -> str:
    """Return the command to run: a checkout builds the engine, an installed portbench takes a wheel that has it."""
    if (Path(__file__).parents[1] / "engine" / "Cargo.toml").is_file():
        return "install Rust (rustup), then run: make build"
    return (
        "run: pip install --force-reinstall --only-binary portbench-engine portbench-engine"
        " (without a wheel for this machine: install Rust, and leave out --only-binary portbench-engine)"
    )
