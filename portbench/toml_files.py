"""TOML files that people write: where they keep their own, and one line for one that cannot be read."""

import os
import tomllib
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from portbench.errors import PortbenchError


def users_files(variable: str, usual: str) -> list[Path]:
    """A user's own files: those that the environment's `variable` names, then those in their usual place.

    The variable holds files and folders of `.toml` files, separated as in PATH. The usual place, a file or a folder, is
    `usual` in portbench's folder of the user's configuration; it need not exist, but a named file must.
    """
    places = [Path(name) for name in os.environ.get(variable, "").split(os.pathsep) if name]
    at_home = user_config_path("portbench") / usual
    if at_home.exists():
        places.append(at_home)
    files = [file for place in places for file in (sorted(place.glob("*.toml")) if place.is_dir() else [place])]
    return list(dict.fromkeys(file.absolute() for file in files))


def read_text(path: Path) -> str:
    """Read the file. Raises PortbenchError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PortbenchError(
            f"{path}: cannot be read ({error.strerror}); correct its name or its permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise PortbenchError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The document `text`; `path` is its file's name for messages. Raises PortbenchError."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for a number of thousands of digits
        raise PortbenchError(f"{path}: is not TOML ({error}); correct that line") from error
