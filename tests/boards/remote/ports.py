"""TCP ports for tests that name one before it is in use."""

import random
import socket
from contextlib import suppress

_OURS = range(20_000, 32_768)
"""Below the ports that a system chooses for port 0 and for clients, so that it takes none of these in between."""


def free_port() -> int:
    while True:
        port = random.SystemRandom().choice(_OURS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
