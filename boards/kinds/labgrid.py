"""Boards of a labgrid lab. Only the user knows that one of them is emulated."""

from portbench.boards.kinds import Kind

KIND = Kind(
    "a labgrid board",
    "portbench.boards.labgrid.labgrid_board:LabgridBoard",
    where=None,
    words=("labgrid:PLACE",),
)
