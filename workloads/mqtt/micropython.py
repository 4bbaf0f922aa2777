"""MQTT by umqtt.simple, and by umqtt.robust once the broker is lost."""

import socket
import time

from portbench_client import RESULT
from umqtt import robust

ECHO = b"portbench/echo"


class Client(robust.MQTTClient):
    """Notes messages, and carries out commands."""

    heard = None
    answered = 0

    def take(self, topic, message):
        if topic == ECHO:
            self.heard = message
        else:
            self.publish(b"portbench/answer", message)
            self.answered += 1

    def echo(self, message):
        self.heard = None
        self.publish(ECHO, message)
        while self.heard != message:
            self.wait_msg()

    def look(self):
        """As umqtt.simple has it: an error is no reason to connect again."""
        robust.simple.MQTTClient.check_msg(self)

    def send(self, topic, message, qos):
        robust.simple.MQTTClient.publish(self, topic, message, qos=qos)

    def sound_off(self):
        self.ping()
        self.wait_msg()


def since(started):
    return time.ticks_diff(time.ticks_us(), started)


def idle(client, idle_s, ping_ms):
    """Nothing to publish. Returns whether the connection is still there."""
    started = pinged = time.ticks_ms()
    try:
        while time.ticks_diff(time.ticks_ms(), started) < idle_s * 1000:
            if ping_ms and time.ticks_diff(time.ticks_ms(), pinged) >= ping_ms:
                pinged = time.ticks_ms()
                client.ping()
            client.look()
            time.sleep_ms(100)
        client.send(b"portbench/idle", b"", 1)
    except OSError:
        return False
    return True


def recover(client, fault):
    """Lose the broker, and publish every 100 ms until a message comes back; umqtt.robust connects again by itself.

    With QoS 1 it would never: its publish goes on waiting, on the new connection, for the PUBACK of the old one.
    """
    started = time.ticks_us()
    client.publish(b"portbench/fault", fault)
    client.heard = None
    while client.heard is None:
        published = time.ticks_ms()
        client.publish(ECHO, b"back")
        while client.heard is None and time.ticks_diff(time.ticks_ms(), published) < 100:
            client.check_msg()
            time.sleep_ms(1)
    return since(started)


def check_sockets():
    made = socket.socket()
    try:
        made.settimeout(None)
    except OSError as error:
        why = "unsupported: a socket of this port takes no time-out before it is connected, as umqtt.simple sets it: %r"
        raise OSError(why % error) from None
    finally:
        made.close()


def unchecked_tls():
    try:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    except (ImportError, AttributeError) as error:
        raise OSError("unsupported: this port has no SSLContext: %r" % error) from None
    context.verify_mode = ssl.CERT_NONE
    return context


def mqtt(
    sock, server, port, messages, payload_bytes, commands, poll_ms, keep_alive_s, idle_s, pings, fault, fault_ms, tls
):
    sock.close()
    check_sockets()
    payload = b"m" * payload_bytes
    security = unchecked_tls() if tls else None
    client = Client(RESULT.get("address", "hosted"), server, port, keepalive=keep_alive_s, ssl=security)
    client.set_callback(client.take)
    RESULT["stage"] = "connect"
    started = time.ticks_us()
    client.connect(clean_session=False)
    RESULT["connect_us"] = since(started)
    client.subscribe(ECHO)
    client.subscribe(b"portbench/command")
    RESULT["stage"] = "QoS 0"
    started = time.ticks_us()
    for _ in range(messages):
        client.send(b"portbench/data", payload, 0)
    client.sound_off()
    RESULT["qos0_us"] = since(started)
    RESULT["stage"] = "QoS 1"
    RESULT["qos1_us"] = times = []
    for _ in range(messages):
        started = time.ticks_us()
        client.send(b"portbench/data", payload, 1)
        times.append(since(started))
    RESULT["stage"] = "echo"
    RESULT["echo_us"] = times = []
    for number in range(min(messages, 10)):
        started = time.ticks_us()
        client.echo(b"%d" % number)
        times.append(since(started))
    RESULT["stage"] = "look"
    RESULT["look_us"] = times = []
    for _ in range(5):
        started = time.ticks_us()
        client.look()
        times.append(since(started))
    RESULT["stage"] = "commands"
    client.send(b"portbench/commands", b"%d" % commands, 0)
    while client.answered < commands:
        client.look()
        time.sleep_ms(poll_ms)
    RESULT["stage"] = "ping"
    started = time.ticks_us()
    client.sound_off()
    RESULT["ping_us"] = since(started)
    RESULT["stage"] = "idle"
    RESULT["kept"] = idle(client, idle_s, keep_alive_s * 500 if pings else 0)
    RESULT["stage"] = "recover"
    RESULT["recover_us"] = None
    if fault != "none":
        said = fault if fault in ("close", "reset") else "%s %d" % (fault, fault_ms)
        RESULT["recover_us"] = recover(client, said.encode())
    if fault != "none" or RESULT["kept"]:
        client.disconnect()
    del RESULT["stage"]
