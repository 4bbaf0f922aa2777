"""A check that the emulated board's engine is installed."""

import importlib

from portbench.errors import BoardUnavailable
from portbench.install import engine_again


def needs_engine() -> None:
    """Raises BoardUnavailable where the engine is missing or damaged."""
    try:
        importlib.import_module("portbench_engine")
    except ModuleNotFoundError:
        raise BoardUnavailable(f"the emulated board's engine is missing; {engine_again()}") from None
    except ImportError as error:
        raise BoardUnavailable(f"the emulated board's engine is damaged ({error}); {engine_again()}") from error
