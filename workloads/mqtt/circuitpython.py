"""MQTT by adafruit_minimqtt."""

import time

from adafruit_minimqtt.adafruit_minimqtt import MQTT, MMQTTException
from portbench_client import RESULT

ECHO = "portbench/echo"
FAULTS = (OSError, RuntimeError, MMQTTException)


class Client:
    """Notes messages, and carries out commands. `look_s`: time of one look for messages, 0: the library's 1 s."""

    def __init__(self, pool, server, port, keep_alive_s, look_s, context):
        self.heard = None
        self.heard_ns = 0
        self.answered = 0
        self.look_s = look_s or 1
        self.mqtt = MQTT(
            broker=server,
            port=port,
            client_id=RESULT["address"],
            socket_pool=pool,
            keep_alive=keep_alive_s,
            connect_retries=1000,  # the usual 5 are over before a broker is back, and the subscriptions with them
            socket_timeout=self.look_s,
            is_ssl=context is not None,
            ssl_context=context,
        )
        self.mqtt.on_message = self.take

    def take(self, mqtt, topic, message):
        if topic == ECHO:
            self.heard_ns = time.monotonic_ns()
            self.heard = message
        else:
            mqtt.publish("portbench/answer", message)
            self.answered += 1

    def look(self):
        self.mqtt.loop(timeout=self.look_s)

    def echo(self, message):
        """Returns when the message came back; the look itself lasts longer."""
        self.heard = None
        self.mqtt.publish(ECHO, message)
        while self.heard != message:
            self.look()
        return self.heard_ns


def since(started, now=None):
    return ((time.monotonic_ns() if now is None else now) - started) // 1000


def pool_of(sock):
    """The pool of the driver, or of the image below the client's own."""
    pool = getattr(sock._socket_pool, "_pool", sock._socket_pool)
    if RESULT["runtime"] == "cpython":  # where the driver's OSError(110) has no errno, by which the library knows it
        pool.timeout = OSError
    return pool


def unchecked():
    """A context that takes any certificate, as it has no roots."""
    try:
        import ssl
    except ImportError:
        ssl = None
    if ssl is None or RESULT["runtime"] == "cpython":
        raise OSError("unsupported: this port's ssl takes no socket of its driver")
    context = ssl.create_default_context()
    context.load_verify_locations(cadata="")
    return context


def idle(client, idle_s):
    """Nothing to publish. Returns whether the connection is still there."""
    started = time.monotonic_ns()
    try:
        while since(started) < idle_s * 1_000_000:
            client.look()
        client.mqtt.publish("portbench/idle", "", qos=1)
    except FAULTS as error:
        RESULT["idle_fault"] = repr(error)
        return False
    return True


def mqtt(sock, server, port, messages, payload_bytes, commands, poll_ms, keep_alive_s, idle_s, fault, fault_ms, tls):
    pool = pool_of(sock)
    sock.close()
    payload = b"m" * payload_bytes
    client = Client(pool, server, port, keep_alive_s, poll_ms / 1000, unchecked() if tls else None)
    mqtt = client.mqtt
    RESULT["stage"] = "connect"
    started = time.monotonic_ns()
    mqtt.connect()
    RESULT["connect_us"] = since(started)
    mqtt.subscribe(ECHO)
    mqtt.subscribe("portbench/command")
    RESULT["stage"] = "QoS 0"
    started = time.monotonic_ns()
    for _ in range(messages):
        mqtt.publish("portbench/data", payload)
    mqtt.ping()
    RESULT["qos0_us"] = since(started)
    RESULT["stage"] = "QoS 1"
    RESULT["qos1_us"] = times = []
    for _ in range(messages):
        started = time.monotonic_ns()
        mqtt.publish("portbench/data", payload, qos=1)
        times.append(since(started))
    RESULT["stage"] = "echo"
    RESULT["echo_us"] = times = []
    for number in range(min(messages, 10)):
        started = time.monotonic_ns()
        times.append(since(started, client.echo(str(number))))
    RESULT["stage"] = "look"
    RESULT["look_us"] = times = []
    for _ in range(5):
        started = time.monotonic_ns()
        client.look()
        times.append(since(started))
    RESULT["stage"] = "commands"
    mqtt.publish("portbench/commands", str(commands))
    while client.answered < commands:
        client.look()
    RESULT["stage"] = "ping"
    started = time.monotonic_ns()
    mqtt.ping()
    RESULT["ping_us"] = since(started)
    RESULT["stage"] = "idle"
    RESULT["kept"] = idle(client, idle_s)
    RESULT["stage"] = "recover"
    RESULT["recover_us"] = None
    if fault != "none":
        RESULT["faults"] = []
        started = time.monotonic_ns()
        client.heard = None
        mqtt.publish("portbench/fault", fault if fault in ("close", "reset") else "%s %d" % (fault, fault_ms))
        while client.heard is None:
            # Not in a function: one more leaves the library too little of CircuitPython's stack to reconnect.
            try:
                mqtt.publish(ECHO, "back")
                mqtt.loop(timeout=client.look_s)
            except FAULTS as error:
                RESULT["faults"].append(repr(error))
                mqtt.reconnect()
        RESULT["recover_us"] = since(started, client.heard_ns)
    if fault != "none" or RESULT["kept"]:
        mqtt.disconnect()
    del RESULT["stage"]
