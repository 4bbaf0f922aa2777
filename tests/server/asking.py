"""The words of the PC that speaks first, and its LAN."""

from portbench.server.simulated_load_generator import Line
from portbench.workloads import Conversation, ConversationError, LoadGenerator

QUESTION = b"what?"
ANSWER = b"that"


class Ask(Conversation):
    """`questions` of them, one after the other's answer; then it closes."""

    def __init__(self, questions: int) -> None:
        self._questions = questions
        self._came = b""

    def opened(self) -> bytes:
        return QUESTION

    def receive(self, data: bytes) -> bytes:
        self._came += data
        if not ANSWER.startswith(self._came):
            raise ConversationError(f"answer {self.exchanges + 1} is {self._came!r}")
        if self._came != ANSWER:
            return b""
        self._came = b""
        self.exchanges += 1
        self.finished = self.exchanges == self._questions
        return b"" if self.finished else QUESTION

    def eof(self) -> None:
        raise ConversationError(f"the board closed before answer {self.exchanges + 1}")


def asking(connections: int, *, questions: int = 1, at_once: int = 1, pause_us: int = 0) -> LoadGenerator:
    return LoadGenerator(lambda: Ask(questions), connections, at_once=at_once, pause_us=pause_us)


class UnaskedLan:
    """The LAN of a simulated PC that is asked for nothing."""

    leased_us: float | None = None

    def connect(self, peer: str, app: Line, at_us: float) -> int:
        raise AssertionError("unexpected connection")

    def unlisten(self, port: int) -> bool:
        raise AssertionError("unexpected network fault")

    def set_cable(self, plugged: bool) -> None:
        raise AssertionError("unexpected network fault")

    def udp_listen(self, port: int, app: object) -> None:
        raise AssertionError("unexpected datagrams")

    def lan_send(self, conn: int, data: bytes, at_us: float) -> bool:
        raise AssertionError("unexpected pings")
