"""The line of code that a profile stands for."""

from __future__ import annotations

from portbench.boards import BoardDefinition
from portbench.clients import nic_line
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.families import Profile
from portbench.runner.plan import client_family
from portbench.runner.program import asks_intn, native_sets


def profile_line(entry: FirmwareEntry, board: BoardDefinition, profile: Profile) -> str | None:
    """The line of the client that the profile decides; None without a network, with the PC's own, or
    without a client of ours.

    Raises PortbenchError for a client that cannot be read.
    """
    if entry.family.traits.client_in_image:
        spi_hz, intn = native_sets(profile)
        return f"NativeConfig(spi_hz={spi_hz:_}, intn={intn})"
    if board.network is None or entry.family.traits.timed_by_pc:
        return None
    return nic_line(
        client_family(entry), board, spi_hz=profile.spi_hz, intn=asks_intn(profile), power_save=profile.power_save
    )
