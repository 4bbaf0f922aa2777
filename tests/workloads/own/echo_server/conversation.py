"""The PC's side of a connection to the echo server."""

from portbench.workloads import Conversation, ConversationError


class AskForEcho(Conversation):
    """Sends a block, waits until all of it is back, and so on; then closes."""

    def __init__(self, blocks: int, block_bytes: int) -> None:
        self._blocks = blocks
        self._block = bytes(range(65, 65 + block_bytes))
        self._due = self._block

    def opened(self) -> bytes:
        return self._block

    def receive(self, data: bytes) -> bytes:
        if not self._due.startswith(data):
            raise ConversationError(f"block {self.exchanges + 1} goes on with {self._due!r}, not {data!r}")
        self._due = self._due[len(data) :]
        if self._due:
            return b""
        self.exchanges += 1
        self.finished = self.exchanges == self._blocks
        self._due = self._block
        return b"" if self.finished else self._block

    def eof(self) -> None:
        raise ConversationError(f"the board closed within block {self.exchanges + 1}")
