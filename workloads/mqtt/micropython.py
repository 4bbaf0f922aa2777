"""MQTT by umqtt.simple, and by umqtt.robust where the broker is lost."""

import socket
import time

from portbench_client import RESULT
from umqtt import robust, simple

ECHO = b"portbench/echo"


class Program:
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

    def sound_off(self):
        self.ping()
        self.wait_msg()


class Client(Program, simple.MQTTClient):
    pass


class RobustClient(Program, robust.MQTTClient):
    pass


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
            client.check_msg()
            time.sleep_ms(100)
        client.publish(b"portbench/idle", b"", qos=1)
    except OSError:
        return False
    return True


def recover(client, fault):
    """Lose the broker, and publish every 100 ms until a message comes back; umqtt.robust connects again by itself.

    With QoS 1 it never would: its publish goes on waiting, on the new connection, for the PUBACK of the old one.
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
    who = (RESULT.get("address", "hosted"), server, port)
    security = unchecked_tls() if tls else None
    client = Client(*who, keepalive=keep_alive_s, ssl=security)
    client.set_callback(client.take)
    RESULT["stage"] = "connect"
    started = time.ticks_us()
    client.connect()
    RESULT["connect_us"] = since(started)
    client.subscribe(ECHO)
    client.subscribe(b"portbench/command")
    RESULT["stage"] = "QoS 0"
    started = time.ticks_us()
    for _ in range(messages):
        client.publish(b"portbench/data", payload)
    client.sound_off()
    RESULT["qos0_us"] = since(started)
    RESULT["stage"] = "QoS 1"
    RESULT["qos1_us"] = times = []
    for _ in range(messages):
        started = time.ticks_us()
        client.publish(b"portbench/data", payload, qos=1)
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
        client.check_msg()
        times.append(since(started))
    RESULT["stage"] = "commands"
    client.publish(b"portbench/commands", b"%d" % commands)
    while client.answered < commands:
        client.check_msg()
        time.sleep_ms(poll_ms)
    RESULT["stage"] = "ping"
    started = time.ticks_us()
    client.sound_off()
    RESULT["ping_us"] = since(started)
    RESULT["stage"] = "idle"
    RESULT["kept"] = idle(client, idle_s, keep_alive_s * 500 if pings else 0)
    if RESULT["kept"]:
        client.disconnect()
    RESULT["stage"] = "recover"
    RESULT["recover_us"] = None
    if fault != "none":
        client = RobustClient(*who, keepalive=keep_alive_s, ssl=security)
        client.set_callback(client.take)
        client.connect(clean_session=False)
        client.subscribe(ECHO)
        said = fault if fault in ("close", "reset") else "%s %d" % (fault, fault_ms)
        RESULT["recover_us"] = recover(client, said.encode())
        client.disconnect()
    del RESULT["stage"]
