"""Downloading one file with `pooch`, bounded in time, size and tries.

The transfer has a thread of its own that nobody has to wait for: name look-up has no limit that a caller could set, and
neither has a server that lets headers and content drip in.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pooch  # type: ignore[import-untyped]
import requests

from portbench.errors import PortbenchError
from portbench.firmware.uf2 import MAX_FILE_BYTES

Progress = Callable[[str, int, int], None]
"""Called with file name, bytes so far and bytes in all (0: not known)."""

LIMIT_S: Final = 180.0
_TRIES: Final = 3
_SOCKET_LIMIT_S: Final = 15.0
_CHUNK_BYTES: Final = 1 << 14

pooch.get_logger().setLevel(logging.WARNING)


class _Abort(Exception):
    """Ends the download at once: `pooch` tries again on any other error."""


class _Meter:
    """What `pooch` takes for a progress bar; also keeps the limits."""

    def __init__(self, file: str, deadline: float, limit_s: float, progress: Progress | None) -> None:
        self.total = 0
        self._done = 0
        self._file = file
        self._deadline = deadline
        self._limit_s = limit_s
        self._progress = progress

    def update(self, count: int) -> None:
        self._done += count
        if time.monotonic() > self._deadline:
            raise _Abort(_too_slow(self._limit_s))
        if self._done > MAX_FILE_BYTES + _CHUNK_BYTES:
            raise _Abort(f"more than {MAX_FILE_BYTES} bytes")
        if self._progress is not None:
            self._progress(self._file, min(self._done, self.total) if self.total else self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass


def _too_slow(limit_s: float) -> str:
    return f"not finished within {limit_s:g} s"


def download(url: str, folder: Path, file: str, *, progress: Progress | None = None, limit_s: float = LIMIT_S) -> Path:
    """Fetches `url` as `folder`/`file` and returns that path; raises `PortbenchError`.

    Nothing is there under that name until the last byte has come.
    """
    deadline = time.monotonic() + limit_s
    ended: list[Path | BaseException] = []

    def run() -> None:
        try:
            ended.append(_download(url, folder, file, progress, deadline, limit_s))
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"download {file}")
    thread.start()
    thread.join(limit_s)
    if not ended:
        raise PortbenchError(_too_slow(limit_s))
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


def _download(url: str, folder: Path, file: str, progress: Progress | None, deadline: float, limit_s: float) -> Path:
    def fetch(source: str, output: Any, caller: Any) -> None:
        meter = _Meter(file, deadline, limit_s, progress)
        meter.update(0)
        try:
            pooch.HTTPDownloader(progressbar=meter, chunk_size=_CHUNK_BYTES, timeout=_SOCKET_LIMIT_S)(
                source, output, caller
            )
        except requests.exceptions.HTTPError as error:
            if error.response is not None and 400 <= error.response.status_code < 500:
                raise _Abort(f"the server answers {error.response.status_code} {error.response.reason}") from error
            raise

    files = pooch.create(path=folder, base_url="", registry={file: None}, urls={file: url}, retry_if_failed=_TRIES - 1)
    try:
        return Path(files.fetch(file, downloader=fetch))
    except _Abort as error:
        raise PortbenchError(str(error)) from error
    except requests.exceptions.RequestException as error:
        raise PortbenchError(f"{_TRIES} tries failed, the last with {type(error).__name__}") from error
    except (OSError, ValueError) as error:
        raise PortbenchError(f"it cannot be stored in {folder} ({error})") from error
