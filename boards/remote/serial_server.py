"""A board's console on the network, as RFC 2217 or as a plain socket: `portbench desk remote`.

For the PC that the board is plugged in at, where it has no ser2net. It follows the board through re-enumerations.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal, cast

import serial
import serial.rfc2217

from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.port import open_port
from portbench.errors import BoardError, BoardUnavailable

Protocol = Literal["rfc2217", "raw"]
_Port = serial.rfc2217.Serial  # PortManager's types ask for it, its code for a few methods of it

_CHUNK_BYTES = 4096
_LOOK_S = 0.02
_OPEN_S = 3.0
_STOP_S = 10.0


class SerialServer:
    """Serves one client at a time while the `with` block runs; others wait their turn.

    `find`: the board as it is plugged in now, None while it is away: then clients are turned away. The board's port is
    open only while a client is there, and a port that goes away takes the client's connection with it. `host`: the
    address to listen on, this PC only unless asked otherwise; `port` 0 takes a free one. Raises BoardUnavailable where
    it cannot listen.
    """

    def __init__(
        self,
        find: Callable[[], UsbDevice | None],
        *,
        protocol: Protocol = "rfc2217",
        host: str = "127.0.0.1",
        port: int = 0,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._find = find
        self._protocol = protocol
        self._log = log
        try:
            self._listener = socket.create_server((host, port), backlog=4)
        except (OSError, OverflowError) as error:
            raise BoardUnavailable(f"{host}:{port}: cannot listen there: {error}; choose another --listen") from error
        self.host, self.port = self._listener.getsockname()[:2]
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"console server {self.port}", daemon=True)

    @property
    def url(self) -> str:
        """For --device."""
        return f"{'rfc2217' if self._protocol == 'rfc2217' else 'socket'}://{self.host}:{self.port}"

    def __enter__(self) -> SerialServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._thread.join(_STOP_S)
        self._listener.close()

    def _run(self) -> None:
        while not self._stopping:
            if not select.select([self._listener], [], [], _LOOK_S)[0]:
                continue
            with contextlib.suppress(OSError):
                client, (host, *_) = self._listener.accept()
                with client:
                    self._serve(client, host)

    def _serve(self, client: socket.socket, host: str) -> None:
        try:
            device = self._find()
            if device is None or device.port is None:
                self._log(f"{host}: turned away, the board shows no port")
                return
            port = open_port(
                device.port,
                "console server",
                Deadline(_OPEN_S, host),
                provider_pid=device.provider_pid,
                keep_input=True,
            )
        except BoardError as error:
            self._log(f"{host}: turned away: {error}")
            return
        self._log(f"{host}: {device.port}")
        with port:
            try:
                self._relay(client, port)
            except Exception as error:  # PortManager does not check what clients send it, and the next one may be good
                self._log(f"{host}: ended: {error!r}")
            else:
                self._log(f"{host}: ended")

    def _relay(self, client: socket.socket, port: serial.Serial) -> None:
        """Until either side ends. Raises OSError when the board's port goes away."""
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(_STOP_S)
        port.write_timeout = _STOP_S
        telnet = None
        if self._protocol == "rfc2217":
            telnet = serial.rfc2217.PortManager(
                cast(_Port, _Tolerant(port)), cast(_Port, SimpleNamespace(write=client.sendall))
            )
        # select takes files on POSIX, and sockets only on Windows.
        sides: list[Any] = [client, port] if os.name == "posix" else [client]
        while not self._stopping:
            readable = select.select(sides, [], [], _LOOK_S)[0]
            if client in readable:
                data = client.recv(_CHUNK_BYTES)
                if not data:
                    return
                typed = b"".join(telnet.filter(data)) if telnet else data
                if typed:
                    port.write(typed)
            waiting = port.in_waiting
            printed = port.read(waiting) if waiting else b""
            if printed:
                client.sendall(b"".join(telnet.escape(printed)) if telnet else printed)
            elif port in readable:
                raise OSError(errno.EIO, os.strerror(errno.EIO))


class _Tolerant:
    """The port as PortManager sees it: one without modem lines, as a pseudo-terminal is, has them all inactive."""

    def __init__(self, port: serial.Serial) -> None:
        object.__setattr__(self, "_port", port)

    def __getattr__(self, name: str) -> object:
        try:
            return getattr(self._port, name)
        except OSError:
            return False

    def __setattr__(self, name: str, value: object) -> None:
        with contextlib.suppress(OSError):
            setattr(self._port, name, value)
