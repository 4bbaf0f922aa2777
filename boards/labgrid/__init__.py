"""Boards of a labgrid lab, as an optional extra; see docs/labgrid.md."""

from portbench.boards.labgrid.board import LabgridBoard

__all__ = ["LabgridBoard"]
