"""Mosquitto's clients at our broker over real sockets, and the same packets at Mosquitto's broker and at ours."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.server.tcp import WorkloadServer
from portbench.workloads import workload
from portbench.workloads.mqtt.packets import PacketKind, Stream, written
from tests import patience
from tests.workloads.mqtt.clients import connect, publish, subscribe, text

LIMIT_S = 60.0
pytestmark = pytest.mark.skipif(
    shutil.which("mosquitto_sub") is None, reason="no mosquitto_sub; run: sudo .ci/install-system-packages"
)


@pytest.fixture
def server() -> Iterator[WorkloadServer]:
    with WorkloadServer(workload("mqtt"), port=0) as running:
        yield running


def command(name: str, server: WorkloadServer, *options: str) -> list[str]:
    return [f"mosquitto_{name}", "-h", server.host, "-p", str(server.port), *options]


def mosquitto_pub(server: WorkloadServer, *options: str) -> None:
    done = patience.run(command("pub", server, *options), LIMIT_S)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_mosquittos_subscriber_hears_its_publisher(server: WorkloadServer, qos: str) -> None:
    options = ("-t", "a/+", "-q", qos, "-C", "1", "-W", "50")
    with subprocess.Popen(command("sub", server, *options), stdout=subprocess.PIPE, text=True) as subscriber:
        while subscriber.poll() is None:  # it does not tell when it has subscribed
            mosquitto_pub(server, "-t", "b", "-m", "not this")
            mosquitto_pub(server, "-t", "a/b", "-m", "this", "-q", qos)
        said, _ = patience.communicate(subscriber, LIMIT_S)
    assert (said, subscriber.returncode) == ("this\n", 0)


def test_a_retained_message_and_a_persistent_session_wait(server: WorkloadServer) -> None:
    def heard(*options: str) -> list[str]:
        done = patience.run(command("sub", server, "-C", "1", "-W", "50", *options), LIMIT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    mosquitto_pub(server, "-t", "kept", "-m", "retained", "-r")
    assert heard("-t", "kept") == ["retained"]
    done = patience.run(command("sub", server, "-E", "-i", "sleeper", "-c", "-q", "1", "-t", "later"), LIMIT_S)
    assert done.returncode == 0, done.stderr
    mosquitto_pub(server, "-t", "later", "-m", "queued", "-q", "1")
    assert heard("-i", "sleeper", "-c", "-q", "1", "-t", "later") == ["queued"]


def test_a_client_of_mqtt_5_is_refused(server: WorkloadServer) -> None:
    done = patience.run(command("pub", server, "-V", "5", "-t", "a", "-m", "x"), LIMIT_S)
    assert done.returncode != 0


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a real broker."""
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin:/usr/bin")
    if program is None:
        pytest.skip("no mosquitto; run: sudo .ci/install-system-packages")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = Path(tmp_path_factory.mktemp("mosquitto"), "settings")
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n", encoding="utf-8")
    with subprocess.Popen([program, "-c", str(settings)], stderr=subprocess.DEVNULL) as running:
        deadline = Deadline(LIMIT_S, "mosquitto")
        while running.poll() is None:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
                break
            deadline.check("a port to listen")
        yield port
        running.terminate()


def answers(port: int, said: bytes) -> list[tuple[PacketKind, int, bytes]]:
    """The packets that a broker sends until it closes, by kind: the order of PUBACK and PUBLISH is its own."""
    with socket.create_connection(("127.0.0.1", port), LIMIT_S) as client:
        client.sendall(said)
        came = b""
        while data := client.recv(4096):
            came += data
    return sorted((each.kind, each.flags, each.body) for each in Stream(1 << 20).feed(came))


BYE = written(PacketKind.DISCONNECT)
SCRIPTS = {
    "echoes": [
        connect(),
        subscribe(b"a/#", 1),
        publish(b"a", b"1"),
        publish(b"a/b", b"2", 1, 7),
        publish(b"b", b"3", 1, 8),
    ],
    "overlapping filters": [connect(), subscribe(b"+/b"), publish(b"a/b", b"x", 1), publish(b"$a/b", b"x", 1)],
    "QoS 2": [connect(), publish(b"a", b"x", 2, 5), b"\x62\x02\x00\x05", b"\x62\x02\x00\x05"],
    "ping and unsubscribe": [
        connect(),
        subscribe(b"a"),
        b"\xc0\x00",
        written(PacketKind.UNSUBSCRIBE, b"\0\2" + text(b"a")),
        publish(b"a", b"x"),
    ],
    "retained": [
        connect(),
        publish(b"kept", b"x", retain=True),
        subscribe(b"kept"),
        publish(b"kept", b"", retain=True),
        subscribe(b"kept", packet_id=2),
    ],
    "no client id": [connect(b""), b"\xc0\x00"],
    "a long message": [connect(), subscribe(b"a"), publish(b"a", bytes(range(256)) * 40)],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_mosquitto_answers_the_same(script: str, server: WorkloadServer, mosquitto: int) -> None:
    said = b"".join(SCRIPTS[script]) + BYE
    ours = answers(server.port, said)
    assert ours and ours == answers(mosquitto, said)


@pytest.mark.parametrize(
    "said",
    [
        connect() + connect(),
        connect() + b"\x80\x00",
        connect() + publish(b"#", b""),
        connect() + subscribe(b"a#"),
        connect() + b"\x30\xff\xff\xff\xff\x7f",
        publish(b"a", b"x"),
    ],
)
def test_mosquitto_drops_the_same(said: bytes, server: WorkloadServer, mosquitto: int) -> None:
    """Without DISCONNECT, each broker has a reason to close."""
    for port in (server.port, mosquitto):
        with contextlib.suppress(ConnectionResetError):
            assert all(kind is PacketKind.CONNACK for kind, _, _ in answers(port, said))
