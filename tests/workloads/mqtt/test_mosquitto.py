"""Mosquitto's clients at our broker over real sockets."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from portbench.server.tcp import WorkloadServer
from portbench.workloads import workload
from tests import patience

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


def publish(server: WorkloadServer, *options: str) -> None:
    done = patience.run(command("pub", server, *options), LIMIT_S)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_mosquittos_subscriber_hears_its_publisher(server: WorkloadServer, qos: str) -> None:
    options = ("-t", "a/+", "-q", qos, "-C", "1", "-W", "50")
    with subprocess.Popen(command("sub", server, *options), stdout=subprocess.PIPE, text=True) as subscriber:
        while subscriber.poll() is None:  # it does not tell when it has subscribed
            publish(server, "-t", "b", "-m", "not this")
            publish(server, "-t", "a/b", "-m", "this", "-q", qos)
        said, _ = patience.communicate(subscriber, LIMIT_S)
    assert (said, subscriber.returncode) == ("this\n", 0)


def test_a_retained_message_and_a_persistent_session_wait(server: WorkloadServer) -> None:
    def heard(*options: str) -> list[str]:
        done = patience.run(command("sub", server, "-C", "1", "-W", "50", *options), LIMIT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    publish(server, "-t", "kept", "-m", "retained", "-r")
    assert heard("-t", "kept") == ["retained"]
    done = patience.run(command("sub", server, "-E", "-i", "sleeper", "-c", "-q", "1", "-t", "later"), LIMIT_S)
    assert done.returncode == 0, done.stderr
    publish(server, "-t", "later", "-m", "queued", "-q", "1")
    assert heard("-i", "sleeper", "-c", "-q", "1", "-t", "later") == ["queued"]


def test_a_client_of_mqtt_5_is_refused(server: WorkloadServer) -> None:
    done = patience.run(command("pub", server, "-V", "5", "-t", "a", "-m", "x"), LIMIT_S)
    assert done.returncode != 0
