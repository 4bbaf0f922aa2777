"""Boards at another PC, whose console is on the network. Only the user knows that one of them is emulated."""

from portbench.boards.kinds import Kind

KIND = Kind(
    "a board elsewhere",
    "portbench.boards.remote.remote_board:RemoteBoard",
    where=None,
    words=("rfc2217://HOST:PORT", "socket://HOST:PORT"),
)
