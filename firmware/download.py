"""Downloads with `pooch`, bounded in time, size and tries, and a check that the hosts of images can be reached.

Transfers and requests run in daemon threads: neither a name look-up nor a server that sends byte by byte has a time
limit that a caller can set. All hosts are asked at once, so that a machine without internet waits for one limit only.

`requests` and `pooch` are imported where they are used: most commands download nothing.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from portbench.errors import PortbenchError
from portbench.firmware.uf2 import MAX_FILE_BYTES

PROBE_LIMIT_S: Final = 8.0
"""All hosts together: after this, one that has not answered counts as unreachable."""


def ask_host(origin: str) -> None:
    """Send one request to `origin` (`https://host`). Any answer will do. Raises `OSError` without one.

    Goes through the same proxies as the download (`requests` reads them from the environment).
    """
    import requests

    requests.head(origin, timeout=(PROBE_LIMIT_S / 2, PROBE_LIMIT_S / 2), allow_redirects=False)


class Reachability:
    """Tells which hosts of `urls` can be reached. The first call asks all of them.

    `limit_s` bounds the waiting of all calls together. `ask` takes an origin and raises `OSError` without an answer.
    """

    def __init__(
        self, urls: Iterable[str], *, limit_s: float = PROBE_LIMIT_S, ask: Callable[[str], None] = ask_host
    ) -> None:
        self._origins = sorted({origin(url) for url in urls})
        self._limit_s = limit_s
        self._ask = ask
        self._start = threading.Lock()
        self._deadline: float | None = None
        self._changed = threading.Condition()
        self._answers: dict[str, str | None] = {}

    def fault(self, url: str) -> str | None:
        """None if the host of `url` can be reached, else one clause that says why not."""
        wanted = origin(url)
        deadline = self._begin(wanted)
        with self._changed:
            self._changed.wait_for(lambda: wanted in self._answers, max(0.0, deadline - time.monotonic()))
            fault = self._answers.setdefault(wanted, f"no answer within {self._limit_s:g} s")
            nothing = fault is not None and all(self._answers.get(each, fault) for each in self._origins)
        if fault is None:
            return None
        host = urlsplit(wanted).netloc
        return f"no internet ({host}: {fault})" if nothing else f"{host} cannot be reached ({fault})"

    def _begin(self, wanted: str) -> float:
        """Start the requests at the first call. Returns the time (monotonic) at which waiting ends."""
        with self._start:
            if self._deadline is None:
                self._deadline = time.monotonic() + self._limit_s
                self._origins = sorted({*self._origins, wanted})
                for each in self._origins:
                    threading.Thread(target=self._run, args=(each,), daemon=True, name=f"ask {each}").start()
            return self._deadline

    def _run(self, each: str) -> None:
        try:
            self._ask(each)
            fault = None
        except OSError as error:  # the base of every error of requests
            fault = _fault(error)
        except ValueError:
            fault = "is not a host's name"
        with self._changed:
            self._answers.setdefault(each, fault)
            self._changed.notify_all()


def _fault(error: OSError) -> str:
    import requests

    match error:
        case requests.exceptions.ProxyError():
            return "the proxy refuses"
        case requests.exceptions.SSLError():
            return "its certificate is not trusted"
        case requests.exceptions.Timeout():
            return "no answer in time"
    return "no connection"


def origin(url: str) -> str:
    """Scheme and host of `url`."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


Progress = Callable[[str, int, int], None]
"""Called with file name, bytes so far and bytes in all (0: not known)."""

LIMIT_S: Final = 180.0
_TRIES: Final = 3
_SOCKET_LIMIT_S: Final = 15.0
_CHUNK_BYTES: Final = 1 << 14


class _Abort(Exception):
    """Ends the download at once: `pooch` tries again on any other error."""


class _Meter:
    """The progress bar for `pooch`, which also keeps the limits."""

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
    """Fetch `url` as `folder`/`file` and return that path. Raises `PortbenchError`.

    The file gets its name after its last byte has come.
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
    import pooch  # type: ignore[import-untyped]
    import requests

    pooch.get_logger().setLevel(logging.WARNING)

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
