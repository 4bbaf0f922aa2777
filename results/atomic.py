"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Makes `text` the content of `path`, in place of what was there; raises `OSError`."""
    with _written(path.parent, text) as temporary:
        temporary.replace(path)


def new_file(path: Path, text: str) -> None:
    """Makes the file `path` with the content `text`; raises `FileExistsError` if there is one, else `OSError`."""
    with _written(path.parent, text) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # no hard links here, as on FAT: take the name first
            path.open("x").close()
            temporary.replace(path)


@contextlib.contextmanager
def _written(folder: Path, text: str) -> Iterator[Path]:
    """A file in `folder` with `text` in it, safe on disk, gone at the end."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".writing-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)  # mkstemp's own mode would keep everybody else out
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
