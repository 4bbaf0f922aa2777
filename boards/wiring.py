"""The check that a board is wired as an image with fixed pins expects."""

from __future__ import annotations

from dataclasses import replace

from portbench.boards.definition import BoardDefinition, Ethernet, Network
from portbench.errors import BoardUnavailable


def require_wiring(definition: BoardDefinition, built_for: BoardDefinition, what: str) -> None:
    """Raises BoardUnavailable unless the board has the chips and the pins of the one that `what` is built for."""
    if definition.mcu != built_for.mcu or _wires(definition.network) != _wires(built_for.network):
        raise BoardUnavailable(
            f"{definition.id}: {what} is built for the chips and pins of {built_for.id}, which this board has not;"
            " use a runtime that is told its pins"
        )


def _wires(network: Network | None) -> Network | None:
    """Leave out the speed, which does not matter here."""
    return replace(network, default_hz=1) if isinstance(network, Ethernet) else network
