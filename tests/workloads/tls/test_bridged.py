"""The emulated board's TLS client meets OpenSSL's s_server on this PC through a bridge."""

from pathlib import Path

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.definition import PC_IP
from portbench.certificates import KeyKind, root, server_name
from tests.at_prompt import at_prompt
from tests.conftest import Image
from tests.server.tls.openssl import needs_openssl, s_server

pytestmark = pytest.mark.engine
LIMIT_S = 500
CALLS = """
import machine, network, socket, ssl
machine.RTC().datetime((2026, 1, 1, 3, 0, 0, 0, 0))
nic = network.WIZNET5K()
nic.active(True)
nic.ifconfig("dhcp")
sock = socket.socket()
sock.connect(("{server}", 443))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.verify_mode = ssl.CERT_REQUIRED
context.load_verify_locations(cadata=bytes.fromhex("{root}"))
stream = context.wrap_socket(sock, server_hostname="{name}")
stream.write(b"portbench\\n")
print(stream.cipher(), stream.readline())
"""


@needs_openssl
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("kind", "cipher"),
    [
        ("ecdsa-p256", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("rsa-2048", "ECDHE-RSA-AES128-SHA256"),
    ],
)
def test_the_board_checks_s_servers_chain_and_agrees_on_its_cipher(
    kind: KeyKind, cipher: str, image: Image, tmp_path: Path
) -> None:
    deadline = Deadline(LIMIT_S, "the board and s_server")
    with s_server(tmp_path, kind, "-cipher", cipher, limit_s=LIMIT_S) as port:
        bridge = [(f"{PC_IP}:443", f"127.0.0.1:{port}")]
        board = board_definition("W5500_EVB_PICO")
        _, prompt = at_prompt(image("micropython-1.28.0"), board, deadline, bridge=bridge)
        calls = CALLS.format(server=PC_IP, root=root(kind).hex(), name=server_name(kind, chain=2))
        said = prompt.execute(calls, deadline, "what it hears")
    assert "TLS-" + cipher.replace("-AES", "-WITH-AES-").split("-SHA")[0] in said.replace("_", "-"), said
    assert "hcnebtrop" in said
