"""The emulated board's umqtt at Mosquitto's broker on this PC through a bridge, beside Mosquitto's clients."""

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.definition import PC_IP
from portbench.clients.libraries import driver_files
from portbench.errors import PortbenchError
from portbench.workloads.mqtt.workload import WORKLOAD, Settings
from tests import patience
from tests.at_prompt import at_prompt
from tests.conftest import Image
from tests.workloads.mqtt.test_mosquitto import LIMIT_S
from tests.workloads.mqtt.test_mosquitto import mosquitto as mosquitto

pytestmark = pytest.mark.engine
TALKS = """
import network
from umqtt.simple import MQTTClient
nic = network.WIZNET5K()
nic.active(True)
nic.ifconfig("dhcp")
client = MQTTClient("board", "{server}", keepalive=600)
client.set_callback(lambda topic, message: print(topic, message))
print(client.connect())
client.publish(b"of/board", b"x" * 200, retain=True, qos=1)
client.subscribe(b"of/pc", qos=1)
client.wait_msg()
client.disconnect()
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_board_and_mosquittos_clients_hear_one_another(image: Image, mosquitto: int) -> None:
    """By retained messages: neither tells when it has subscribed."""

    def mosquittos(name: str, *options: str) -> str:
        done = patience.run([f"mosquitto_{name}", "-h", "127.0.0.1", "-p", str(mosquitto), *options], LIMIT_S)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    mosquittos("pub", "-t", "of/pc", "-m", "hello", "-r", "-q", "1")
    deadline = Deadline(200, "the board and Mosquitto")
    bridge = [(f"{PC_IP}:1883", f"127.0.0.1:{mosquitto}")]
    board = board_definition("W5500_EVB_PICO")
    _, prompt = at_prompt(image("micropython-1.28.0"), board, deadline, bridge=bridge)
    try:
        files = driver_files(WORKLOAD.libraries("micropython", Settings()), LIMIT_S)
    except PortbenchError as error:
        pytest.skip(str(error))
    prompt.execute("import os\nfor folder in ('lib', 'lib/umqtt'):\n    os.mkdir(folder)", deadline, "its folders")
    for path, content in files.items():
        prompt.write_file(f"lib/{path}", content, deadline)
    said = prompt.execute(TALKS.format(server=PC_IP), deadline, "what it hears")
    assert said.split() == ["0", "b'of/pc'", "b'hello'"]
    assert mosquittos("sub", "-t", "of/board", "-C", "1", "-W", "50") == "x" * 200 + "\n"
