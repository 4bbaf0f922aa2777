"""What a person has to know as one line on standard error, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from portbench.runner.options import OptionError


@contextmanager
def one_line(*faults: type[Exception]) -> Iterator[None]:
    """Ends the command with status 2 for a wrong option, and with 1 for one of `faults` or a file that fails."""
    try:
        yield
    except OptionError as error:
        raise click.UsageError(str(error), click.get_current_context(silent=True)) from None
    except faults as error:
        raise click.ClickException(str(error)) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from None
