"""OpenSSL's own programs, as the other side of a test."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portbench.certificates import KeyKind, chain

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl: apt-get install openssl")


def pem(der: bytes, label: str = "CERTIFICATE") -> str:
    return ssl.DER_cert_to_PEM_cert(der).replace("CERTIFICATE", label)


@contextmanager
def s_server(folder: Path, kind: KeyKind, *options: str, limit_s: float = 120) -> Iterator[int]:
    """The port of an s_server with a chain of two, which sends each line of its first client back reversed."""
    found = chain(kind, 2)
    (folder / "chain.pem").write_text("".join(pem(each) for each in found.certificates[1:]))
    (folder / "server.pem").write_text(pem(found.certificates[0]) + pem(found.key, "PRIVATE KEY"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-naccept", "1", "-rev", "-cert"]
    command += [str(folder / "server.pem"), "-cert_chain", str(folder / "chain.pem"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:
        killer = threading.Timer(limit_s, program.kill)
        killer.start()
        try:
            assert program.stdout is not None
            while b"ACCEPT" not in (line := program.stdout.readline()):
                assert line, "s_server did not start"
            yield port
        finally:
            killer.cancel()
            program.kill()
