"""Ports of this machine that lead to a board, as people read of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def described(facts: Mapping[str, Any]) -> str:
    """A rule of a running board, with the port that was chosen."""
    host = f"[{facts['host']}]" if ":" in facts["host"] else facts["host"]
    address = f"{facts['address']}:" if facts["address"] else ""
    return f"{facts['protocol']} {host}:{facts['host_port']} leads to {address}{facts['port']} of the board"
