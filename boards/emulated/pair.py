"""Two emulated boards on one switch, as whoever runs both sees them."""

from __future__ import annotations

from ipaddress import IPv4Address

from portbench.boards.board import Board, RunOutput
from portbench.boards.emulated.board import EmulatedBoard
from portbench.boards.room import Room
from portbench.boards.timing import Deadline


class EmulatedPair:
    """`server` is powered up with what is on it now, and `client` joins its switch when its next run begins.

    Raises BoardError where `server` never listens.
    """

    def __init__(self, client: Board, server: Board, room: Room | None, deadline: Deadline) -> None:
        assert isinstance(client, EmulatedBoard) and isinstance(server, EmulatedBoard)
        self._client = client
        said = client.put_beside(server, room, deadline)
        self.listening: tuple[IPv4Address, int] = (said.address, said.port)

    def served(self, timeout_s: float) -> RunOutput:
        """In its own run the client has waited for it, in simulated time."""
        return self._client.partner_output()
