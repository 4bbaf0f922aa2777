"""Published time of a handshake in which the board is the TLS server, at MicroPython's raw prompt."""

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.definition import PC_IP
from portbench.boards.emulated.config import EmulatedConfig
from portbench.certificates import DATE_S, KeyKind, chain, root, server_name
from portbench.server.simulated_pc import Part
from portbench.server.tls.seeded import SeededPeer
from portbench.workloads import Conversation
from tests.at_prompt import at_prompt
from tests.conftest import Image

pytestmark = pytest.mark.engine
PORT = 5000
SERVES = """
import network, socket, ssl, time
nic = network.WIZNET5K()
nic.active(True)
nic.ifconfig("dhcp")
sock = socket.socket()
sock.connect(("{server}", {port}))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(bytes.fromhex("{certificate}"), bytes.fromhex("{key}"))
started = time.ticks_us()
stream = context.wrap_socket(sock, server_side=True)
print(time.ticks_diff(time.ticks_us(), started))
"""


class Client(Conversation):
    """A TLS client on the connection that the board has opened: TLS does not mind who began TCP."""

    def __init__(self, kind: KeyKind) -> None:
        self._tls = SeededPeer().connect(server_name(kind), root(kind))

    def opened(self) -> bytes:
        return self._tls.send(b"")

    def receive(self, data: bytes) -> bytes:
        return self._tls.receive(data, DATE_S)[1]

    def eof(self) -> None:
        pass


def served_s(image: Image, kind: KeyKind) -> float:
    deadline = Deadline(900, "the published handshake")
    simulation, prompt = at_prompt(image("micropython-1.28.0"), board_definition("W5500_EVB_PICO"), deadline)
    simulation.serve(PORT, EmulatedConfig().turnaround_us, Part(service=lambda: lambda: Client(kind)))
    found = chain(kind)
    program = SERVES.format(server=PC_IP, port=PORT, certificate=found.certificates[0].hex(), key=found.key.hex())
    return int(prompt.execute(program, deadline, "the handshake").splitlines()[-1]) / 1e6


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_server_with_rsa_4096_takes_as_long_as_published(image: Image) -> None:
    """23 s, of a release of 2024-01 that the source does not name; ours takes 26.6 s."""
    assert served_s(image, "rsa-4096") == pytest.approx(23, rel=0.2)
    assert served_s(image, "ecdsa-p256") < 1
