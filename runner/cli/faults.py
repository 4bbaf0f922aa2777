"""Errors as one line on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from portbench.errors import OptionError, PortbenchError
from portbench.shown import shown


@contextmanager
def one_line(context: click.Context | None = None) -> Iterator[None]:
    """End the command with status 2 for a wrong option, 1 for a PortbenchError or an error of a file."""
    try:
        yield
    except OptionError as error:
        raise click.UsageError(shown(str(error)), context or click.get_current_context(silent=True)) from None
    except PortbenchError as error:
        raise click.ClickException(shown(str(error))) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise click.ClickException(shown(said)) from None
