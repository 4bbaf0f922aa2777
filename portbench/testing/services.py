"""Servers on the simulated PC for a test's board: HTTP and MQTT, as workloads have them."""

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

import h11

from portbench.server.simulated_pc import SimulatedServer
from portbench.testing.simulation import DEFAULT_S, RecordedSimulation
from portbench.workloads import Conversation
from portbench.workloads.https.workload import HttpServer
from portbench.workloads.mqtt.broker import Broker, BrokerLink
from portbench.workloads.mqtt.packets import Message, matches

__tracebackhide__ = True
T = TypeVar("T")


class Service(Generic[T]):
    """A server on a TCP port of the simulated PC. It stays over power cycles; its connections do not."""

    def __init__(self, simulation: RecordedSimulation, port: int, conversation: Callable[[], Conversation]) -> None:
        self._simulation, self._port, self._conversation = simulation, port, conversation
        self.received: list[T] = []
        self._taken = 0
        self._listen()
        simulation.on_power_up.append(self._listen)
        simulation.on_step.append(self._look)

    def _listen(self) -> None:
        self._server = SimulatedServer(self._conversation, self._simulation.settings["turnaround_us"])
        self._server.pauses = True
        self._simulation.machine.listen(self._port, self._server)

    def _look(self) -> None:
        self._server.look(self._simulation.machine, self._simulation.time_us)

    def _expect(self, wanted: Callable[[T], bool], within_s: float, what: str) -> T:
        def look() -> list[T]:
            return [each for each in self.received[self._taken :] if wanted(each)]

        first = self._simulation.wait(look, within_s, what, self._simulation.came_on_console)[0]
        self._taken = self.received.index(first, self._taken) + 1
        return first


class Request(NamedTuple):
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


Page = str | bytes | Callable[[Request], str | bytes]


class Pages(Service[Request]):
    """A server of HTTP/1.1. Other paths than those of `pages` are answered with status 404."""

    def __init__(self, simulation: RecordedSimulation, port: int, pages: Mapping[str, Page]) -> None:
        self._pages = pages
        super().__init__(simulation, port, lambda: HttpServer(self._answer))

    def expect(self, path: str, within_s: float = DEFAULT_S) -> Request:
        """Wait for the next request of `path`, and return it. Raises NothingCame."""
        return self._expect(lambda request: request.path == path, within_s, f"a request of {path}")

    def _answer(self, asked: h11.Request, content: bytes) -> tuple[int, bytes]:
        path, _, query = asked.target.decode("latin-1").partition("?")
        headers = {name.decode(): value.decode("latin-1") for name, value in asked.headers}
        request = Request(asked.method.decode(), path, query, headers, content)
        self.received.append(request)
        page = self._pages.get(path)
        body = page(request) if callable(page) else page
        return (404, b"not found") if body is None else (200, body.encode() if isinstance(body, str) else body)


class MqttBroker(Service[Message]):
    """A broker of MQTT 3.1.1, without TLS and passwords. It receives what boards publish."""

    def __init__(self, simulation: RecordedSimulation, port: int) -> None:
        self._broker = Broker(lambda by, message: self.received.append(message))
        super().__init__(simulation, port, lambda: BrokerLink(self._broker))

    def expect(self, topic: str, within_s: float = DEFAULT_S) -> Message:
        """Wait for the next message of `topic`, which may be a filter, and return it. Raises NothingCame."""
        return self._expect(lambda message: matches(message.topic, topic.encode()), within_s, f"a message of {topic}")

    def publish(self, topic: str, payload: str | bytes, qos: int = 0, retain: bool = False) -> None:
        """Send a message to all that subscribe to `topic`."""
        data = payload.encode() if isinstance(payload, str) else payload
        self._broker.publish(None, Message(topic.encode(), data, qos, retain))
        self._look()
