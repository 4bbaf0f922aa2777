"""The PC's side of the echo."""

from portbench.workloads import Conversation, ConversationError


class EchoConversation(Conversation):
    """Received bytes go back; each arrival is one exchange."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def receive(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise ConversationError("more came than is kept")
        self.exchanges += 1
        return data

    def eof(self) -> None:
        if not self.exchanges:
            raise ConversationError("the client closed without a block")
