"""One server for boards that are measured at once, in processes of their own.

It runs in the process that pytest was started in; the others reach its records through a manager on the loopback.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from multiprocessing.managers import BaseManager, Server
from typing import Any, cast

from portbench.errors import PortbenchError
from portbench.runner.options import BenchOptions
from portbench.runner.servers import Servers, SessionSource
from portbench.workloads import Session, Workload, workload

_METHODS = ("address", "accepted", "sessions", "announced", "wait_report")


class _Shared:
    """What the manager exposes: the servers of one bench, by the address and the workload asked for."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._starting = threading.Lock()

    def address(self, host: str, name: str) -> tuple[str, int]:
        server = self._at(host, name)
        return server.host, server.port

    def accepted(self, host: str, name: str) -> int:
        return self._at(host, name).accepted

    def sessions(self, host: str, name: str) -> list[Session]:
        return self._at(host, name).sessions()

    def announced(self, host: str, name: str, after: int) -> str | None:
        return self._at(host, name).announced(after)

    def wait_report(self, host: str, name: str, timeout_s: float, after: int) -> Session:
        return self._at(host, name).wait_report(timeout_s, after=after)

    def _at(self, host: str, name: str) -> SessionSource:
        with self._starting:
            return self._servers.at(host, workload(name))


class ServerHub:
    """Lends `servers` to other processes until `close`."""

    def __init__(self, servers: Servers) -> None:
        shared = _Shared(servers)
        self._key = secrets.token_hex(16)

        class Manager(BaseManager):
            pass

        Manager.register("shared", callable=lambda: shared, exposed=_METHODS)
        manager = Manager(address=("127.0.0.1", 0), authkey=self._key.encode())
        self._server: Server = manager.get_server()
        threading.Thread(target=self._serve, name="server hub", daemon=True).start()

    @property
    def ticket(self) -> str:
        """What another process needs: port and key."""
        return f"{cast(tuple[str, int], self._server.address)[1]}:{self._key}"

    def close(self) -> None:
        stop: threading.Event | None = getattr(self._server, "stop_event", None)
        if stop is not None:
            stop.set()

    def _serve(self) -> None:
        with contextlib.suppress(SystemExit):  # how the manager's server ends
            self._server.serve_forever()


class LentServers(Servers):
    """The servers of another process, in the place of own ones."""

    def __init__(self, options: BenchOptions, ticket: str) -> None:
        super().__init__(options)
        port, _, key = ticket.partition(":")

        class Manager(BaseManager):
            pass

        Manager.register("shared", exposed=_METHODS)
        manager: Any = Manager(address=("127.0.0.1", int(port)), authkey=key.encode())
        manager.connect()
        self._shared = manager.shared()

    def at(self, host: str, workload: Workload) -> SessionSource:
        return LentServer(self._shared, host, workload.name)


class LentServer:
    """As `WorkloadServer`, as far as a bench asks. Raises PortbenchError."""

    def __init__(self, shared: Any, host: str, workload: str) -> None:
        self._shared = shared
        self._asked = host
        self._workload = workload
        self.limit: int | None = None  # nobody lends a server for a row that would need one
        self.host, self.port = self._call("address")

    @property
    def accepted(self) -> int:
        return int(self._call("accepted"))

    def sessions(self) -> list[Session]:
        return list(self._call("sessions"))

    def announced(self, after: int) -> str | None:
        return cast(str | None, self._call("announced", after))

    def wait_report(self, timeout_s: float, *, after: int = -1) -> Session:
        return cast(Session, self._call("wait_report", timeout_s, after))

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._shared, method)(self._asked, self._workload, *arguments)
        except (EOFError, OSError) as error:
            raise PortbenchError(f"{self._asked}: the server's process has ended ({error!r}); run again") from error
