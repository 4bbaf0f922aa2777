"""What a person has to know as one line on standard error, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from portbench.errors import OptionError
from portbench.shown import shown


@contextmanager
def one_line(*faults: type[Exception]) -> Iterator[None]:
    """Ends the command with status 2 for a wrong option, and with 1 for one of `faults` or a file that fails."""
    try:
        yield
    except OptionError as error:
        raise click.UsageError(shown(str(error)), click.get_current_context(silent=True)) from None
    except faults as error:
        raise click.ClickException(shown(str(error))) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise click.ClickException(shown(said)) from None
