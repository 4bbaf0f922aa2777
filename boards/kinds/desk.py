"""Emulated boards that run on this PC already, each in its own process."""

from portbench.boards.kinds import AUTO, Kind
from portbench.where import Where

KIND = Kind(
    "an emulated board",
    "portbench.boards.desk.board:DeskBoard",
    where=Where.EMULATED,
    claims=lambda wanted: wanted.device != AUTO and not wanted.is_real,
    runs_already=True,
)
