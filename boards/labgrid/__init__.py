"""Boards of a labgrid lab, as an optional extra; see docs/labgrid.md."""
