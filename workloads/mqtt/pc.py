"""The PC's own client, inside the broker: it sends commands to the board, and loses the broker when asked to."""

import re
from typing import Final, Literal, cast

from portbench.workloads.conversation import NetworkFault
from portbench.workloads.mqtt.broker import BrokerLink
from portbench.workloads.mqtt.packets import Message

COMMANDS: Final = b"portbench/commands"
"""The board asks for so many commands."""
COMMAND: Final = b"portbench/command"
ANSWER: Final = b"portbench/answer"
"""The board has carried out a command, whose number it says."""
FAULT: Final = b"portbench/fault"
"""`close`, `reset`, `restart MS` or `cable MS`, as the workload's setting."""
MOST_COMMANDS: Final = 1000
_FAULT: Final = re.compile(rb"(close)|(reset)|(restart|cable) ([1-9][0-9]{0,4})")


def pause_us(number: int) -> float:
    """From the PC's readiness to command `number`: spread over 20 to 520 ms, so that no poll of the board fits it."""
    return 20_000.0 + number * 137_000 % 500_000


class PcClient:
    """Hears every message that boards publish. Commands are counted for each board."""

    def __init__(self) -> None:
        self._asked: dict[BrokerLink, tuple[int, int]] = {}
        """Number of commands, and the number of the next."""

    def heard(self, board: BrokerLink, message: Message) -> None:
        if message.topic == COMMANDS and message.payload.isdigit() and len(message.payload) <= 4:
            self._asked = {each: left for each, left in self._asked.items() if not each.finished}
            self._asked[board] = (min(int(message.payload), MOST_COMMANDS), 0)
            self._command(board)
        elif message.topic == ANSWER and board in self._asked:
            if message.payload == b"%d" % (self._asked[board][1] - 1):
                self._command(board)
        elif message.topic == FAULT:
            self._lose(board, message.payload)

    def _command(self, board: BrokerLink) -> None:
        of, number = self._asked[board]
        if number == of:
            del self._asked[board]
            return
        self._asked[board] = (of, number + 1)
        board.tell(Message(COMMAND, b"%d" % number), pause_us(number))

    def _lose(self, board: BrokerLink, fault: bytes) -> None:
        found = _FAULT.fullmatch(fault)
        if found is None:
            return
        if found[1]:
            board.finished = True
            board.lost()
            return
        kind = cast(Literal["reset", "restart", "cable"], (found[2] or found[3]).decode())
        board.network_fault = NetworkFault(kind, float(found[4] or 0) * 1000)
        if kind != "cable":
            board.lost()
