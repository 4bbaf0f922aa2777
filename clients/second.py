"""What a client needs so that two boards with the same client can be on one network."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from portbench.boards import BoardDefinition, Deployment, Ethernet
from portbench.errors import PortbenchError

_FIRST: Final = b'"02:08:dc:55:00:01"'
_SECOND: Final = b'"02:08:dc:55:00:02"'
"""As long, so that the script's timing stays what it is."""


def as_second(deployment: Deployment, board: BoardDefinition) -> Deployment:
    """With another MAC address, where the client gives the board one: CircuitPython's does to a chip that has none.
    Elsewhere the firmware makes one of the flash chip's number. Raises PortbenchError."""
    if deployment.family != "circuitpython" or not isinstance(board.network, Ethernet):
        return deployment
    script = deployment.files["code.py"]
    if script.count(_FIRST) != 1:
        raise PortbenchError(f"code.py: has the MAC address {_FIRST.decode()} {script.count(_FIRST)} times, not once")
    return replace(deployment, files={**deployment.files, "code.py": script.replace(_FIRST, _SECOND)})
