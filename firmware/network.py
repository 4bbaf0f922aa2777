"""Whether the machines that offer images can be reached, found out once for all of them.

A machine without internet can make every single download wait for its own time limit, in name look-up above all, which
has no limit that a caller can set. So all hosts are asked at once, in threads that nobody has to wait for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urlsplit

import requests

PROBE_LIMIT_S: Final = 8.0
"""All hosts together: after this, one that has not answered counts as unreachable."""


def ask_host(origin: str) -> None:
    """Sends one request to `origin` (`https://host`); any answer will do. Raises `OSError` without one.

    Goes through the same proxies as the download (`requests` reads them from the environment).
    """
    requests.head(origin, timeout=(PROBE_LIMIT_S / 2, PROBE_LIMIT_S / 2), allow_redirects=False)


class Reachability:
    """Answers for the hosts of `urls`; asks them all when the first answer is wanted.

    `limit_s` bounds the waiting of all calls together. `ask` is given an origin and raises `OSError` without an answer.
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
        """Starts the questions if nobody has; the time (monotonic) at which waiting ends."""
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
        except requests.exceptions.ProxyError:
            fault = "the proxy refuses"
        except requests.exceptions.SSLError:
            fault = "its certificate is not trusted"
        except requests.exceptions.Timeout:
            fault = "no answer in time"
        except OSError:  # the base of every error of requests
            fault = "no connection"
        except ValueError:
            fault = "is no host's name"
        with self._changed:
            self._answers.setdefault(each, fault)
            self._changed.notify_all()


def origin(url: str) -> str:
    """Scheme and host of `url`."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
