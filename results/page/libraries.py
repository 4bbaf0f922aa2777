"""Drawing and templates are an extra: measuring needs neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from portbench.errors import LibraryMissing


@contextmanager
def page_libraries() -> Iterator[None]:
    """Around what imports them. Raises LibraryMissing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise LibraryMissing(f"a page of HTML needs {error.name}; install it: pip install 'portbench[page]'") from error
