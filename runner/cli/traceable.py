"""What can go wrong with a row that is run by itself, each told in one line."""

from __future__ import annotations
