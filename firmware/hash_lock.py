"""The lock file: sha256 of images whose hash the catalogue does not know, kept from the first time they were seen.

Two files hold hashes. `catalogue.toml` is committed and holds those that the project vouches for. The lock file is
each user's and outside the project, so that a read-only clone works and no run changes the work tree. It is kept with
the user's state and survives emptying the cache. To pin a hash for all users, copy it from the lock file into the
catalogue.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portbench.errors import PortbenchError
from portbench.files import locked, replace_file

LOCK_NAME: Final = "firmware.lock"
_WAIT_S: Final = 10.0
_VERSION: Final = 1


@dataclass(frozen=True)
class Seen:
    """The lock file's entry for one image."""

    sha256: str
    first_seen_utc: str
    source: str


class HashLock:
    """The lock file at `path`; safe against other processes and never half-written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def see(self, file: str, sha256: str, source: str) -> Seen:
        """The entry for the image `file`; records `sha256` where there is none. `source` says where it came from."""
        if seen := self._read().get(file):
            return seen
        busy = PortbenchError(f"{self.path}: another process has held it for {_WAIT_S:g} s; end that process")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path.with_name(f"{self.path.name}.guard"), busy, within_s=_WAIT_S):
                images = self._read()
                if file not in images:
                    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
                    images[file] = Seen(sha256, now, source)
                    self._write(images)
                return images[file]
        except OSError as error:
            raise PortbenchError(f"{self.path}: cannot be written ({error.strerror}); make it writable") from error

    def _read(self) -> dict[str, Seen]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if document["version"] != _VERSION:
                raise PortbenchError(
                    f"{self.path}: version is {document['version']!r}, not {_VERSION}; use the portbench that wrote it"
                    " or delete the file"
                )
            images = {file: Seen(**fields) for file, fields in document["images"].items()}
            if not all(isinstance(value, str) for seen in images.values() for value in vars(seen).values()):
                raise TypeError
            return images
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise PortbenchError(f"{self.path}: cannot be read ({error.strerror}); make it readable") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise PortbenchError(
                f"{self.path}: is damaged; delete it, the hashes are then taken anew at the next run"
            ) from error

    def _write(self, images: dict[str, Seen]) -> None:
        document = {"version": _VERSION, "images": {file: vars(seen) for file, seen in sorted(images.items())}}
        replace_file(self.path, json.dumps(document, indent=2) + "\n")
