"""Has the PC call a client that listens and has no console: it told the server where."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from portbench.runner.servers import SessionSource
from portbench.server.caller import WorkloadCaller
from portbench.server.listening import parse_listening
from portbench.server.tcp import ServerError

_LOOK_S: Final = 0.02


@contextlib.contextmanager
def called_when_announced(server: SessionSource | None, after: int, caller: WorkloadCaller | None) -> Iterator[None]:
    """Until the `with` block ends, whoever tells `server` where it listens, on a connection numbered above `after`, is
    called by `caller`; without either nobody is."""
    if server is None or caller is None:
        yield
        return
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(_LOOK_S):
            with contextlib.suppress(ServerError):  # it ends the run by itself, where the report is waited for
                line = server.announced(after)
                if line is not None and (board := parse_listening(line)) is not None:
                    caller.call(board)
                    return

    thread = threading.Thread(target=look, name="looks for announcements", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
