"""TCP ports for tests that name one before it is in use."""

from __future__ import annotations

import socket


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
