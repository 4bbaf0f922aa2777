"""OpenSSL's s_client on this PC meets the emulated board's TLS server through a forwarded port."""

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from portbench.boards import Deadline, board_definition
from portbench.certificates import chain, root, server_name
from tests import patience
from tests.at_prompt import at_prompt
from tests.conftest import Image

pytestmark = pytest.mark.engine
LOOK_S = 0.1
LISTENS = """
import network, socket, ssl
nic = network.WIZNET5K()
nic.active(True)
nic.ifconfig("dhcp")
server = socket.socket()
server.bind(("0.0.0.0", 443))
server.listen(1)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(bytes.fromhex("{certificate}"), bytes.fromhex("{key}"))
"""
SERVES = """
sock, _ = server.accept()
stream = context.wrap_socket(sock, server_side=True)
stream.write(b"portbench of " + stream.readline())
stream.close()
sock.close()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl: apt-get install openssl")
def test_s_client_checks_the_boards_certificate(image: Image, tmp_path: Path) -> None:
    kind = "ecdsa-p256"
    file = tmp_path / "root.pem"
    file.write_text(ssl.DER_cert_to_PEM_cert(root(kind)))
    deadline = Deadline(500, "s_client and the board")
    simulation, prompt = at_prompt(image("micropython-1.28.0"), board_definition("W5500_EVB_PICO"), deadline)
    found = chain(kind)
    listens = LISTENS.format(certificate=found.certificates[0].hex(), key=found.key.hex())
    prompt.execute(listens, deadline, "the board to listen")
    with socket.create_server(("127.0.0.1", 0)) as forwarded:
        simulation.machine.forward(forwarded.fileno(), False, 443)
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{forwarded.getsockname()[1]}", "-CAfile", str(file)]
        command += ["-verify_return_error", "-servername", server_name(kind), "-ign_eof"]
        with patience.started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
            assert client.stdin is not None and client.stdout is not None
            client.stdin.write("the PC\n")
            client.stdin.flush()
            prompt.execute(SERVES, deadline, "the board to serve")
            while client.poll() is None:
                prompt.wire.read_some(LOOK_S)
            said = client.stdout.read()
    assert "Verify return code: 0 (ok)" in said and "Protocol  : TLSv1.2" in said
    assert "portbench of the PC" in said
