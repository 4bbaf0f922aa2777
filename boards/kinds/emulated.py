"""Emulated boards in the process that measures."""

from typing import Any

from portbench.boards.kinds import AUTO, Kind, Wanted, imported
from portbench.errors import BrokenSetup
from portbench.where import Where


def _arguments(wanted: Wanted) -> dict[str, Any]:
    if wanted.deployer != "mpremote":
        raise BrokenSetup(
            f"--deploy {wanted.deployer}: an emulated row has no serial port; leave it out, or use a board that has"
            " one: portbench desk, and --device usb:desk"
        )
    config = imported("portbench.boards.emulated.config:EmulatedConfig", KIND.name)(**wanted.surroundings)
    return {"config": config, "reuse_flash": True, "attribute": wanted.attribute, "log": wanted.listener.log}


KIND = Kind(
    "the emulated board",
    "portbench.boards.emulated.board:EmulatedBoard",
    where=Where.EMULATED,
    claims=lambda wanted: wanted.device == AUTO and not wanted.is_real,
    arguments=_arguments,
)
