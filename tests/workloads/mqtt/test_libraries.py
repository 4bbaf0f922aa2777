"""The boards' libraries on this PC: the same program at Mosquitto's broker and at ours."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from portbench.boards.hosted.micropython_unix import micropython_command
from portbench.clients.libraries import NEWEST_MAJOR, driver_files, library_files
from portbench.errors import BoardUnavailable
from portbench.server.tcp import WorkloadServer
from portbench.workloads.mqtt.workload import WORKLOAD, Settings
from tests import patience
from tests.conftest import libraries_or_skip
from tests.workloads.mqtt.test_mosquitto import LIMIT_S
from tests.workloads.mqtt.test_mosquitto import mosquitto as mosquitto

UMQTT = """
from umqtt.robust import MQTTClient

heard = []
client = MQTTClient("one", "127.0.0.1", PORT, keepalive=60)
client.set_callback(lambda topic, message: heard.append((topic, message)))
print(client.connect(), client.subscribe(b"a/#", qos=1))
client.publish(b"a/b", b"x" * 200, qos=1)
client.publish(b"b", b"not this", qos=1)
client.publish(b"a", b"", qos=0)
client.ping()
while len(heard) < 2:
    client.wait_msg()
print(heard)
client.disconnect()
"""
MINIMQTT = """
import socket
from adafruit_minimqtt.adafruit_minimqtt import MQTT

heard = []
client = MQTT(broker="127.0.0.1", port=PORT, client_id="one", socket_pool=socket)
client.on_message = lambda client, topic, message: heard.append((topic.encode(), message.encode()))
print(client.connect(), client.subscribe("a/#", 1))
client.publish("a/b", "x" * 200, qos=1)
client.publish("b", "not this", qos=1)
client.publish("a", "", qos=0)
client.ping()
while len(heard) < 2:
    client.loop(1)
print(heard)
client.disconnect()
"""
SAID = f"0 None\n[(b'a/b', b'{'x' * 200}'), (b'a', b'')]\n"


def run(command: list[str], program: str, files: Mapping[str, bytes], port: int, folder: Path) -> None:
    for path, content in {**files, "main.py": program.replace("PORT", str(port)).encode()}.items():
        place = folder / path.removeprefix("lib/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    done = patience.run([*command, "main.py"], LIMIT_S, cwd=folder)
    assert done.stdout == SAID, done.stderr


def test_umqtt(mosquitto: int, tmp_path: Path) -> None:
    try:
        command = micropython_command()
    except BoardUnavailable as error:
        pytest.skip(str(error))
    with libraries_or_skip():
        files = driver_files(WORKLOAD.libraries("micropython", Settings()), LIMIT_S)
    with WorkloadServer(WORKLOAD, port=0) as ours:
        for name, port in (("ours", ours.port), ("mosquittos", mosquitto)):
            run(command, UMQTT, files, port, tmp_path / name)


def test_minimqtt(mosquitto: int, tmp_path: Path) -> None:
    pytest.importorskip("micropython", reason="no Adafruit-Blinka; run: make")
    with libraries_or_skip():
        files = library_files(NEWEST_MAJOR, LIMIT_S, names=WORKLOAD.libraries("circuitpython", Settings()))
    with WorkloadServer(WORKLOAD, port=0) as ours:
        for name, port in (("ours", ours.port), ("mosquittos", mosquitto)):
            run([sys.executable], MINIMQTT, files, port, tmp_path / name)
