"""The ping-pong as tests put it on boards themselves, without a bench around it."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, Deployment, board_definition
from portbench.clients import ClientNetwork, build_deployment
from portbench.firmware import catalogue
from portbench.firmware.catalogue import FirmwareEntry
from portbench.workloads import WorkloadSettings, workload

PING_PONG: Final = workload("ping_pong")
NATIVE_IMAGE: Final = PING_PONG.folder / "native.uf2"
EVB: Final = board_definition("W5500_EVB_PICO")


def settings(messages: int) -> WorkloadSettings:
    return PING_PONG.settings_type.model_validate({"messages": messages})


def deployment(
    family: str, network: ClientNetwork, messages: int, version: str = "", board: BoardDefinition = EVB
) -> Deployment:
    """The client of `family` with the ping-pong. Raises PortbenchError."""
    return build_deployment(family, version, board, PING_PONG, settings(messages), network)


def entry(runtime: str) -> FirmwareEntry:
    """Return the entry of the catalogue; the native client's image is the workload's."""
    found = catalogue.load().get(runtime)
    return replace(found, path=Path(NATIVE_IMAGE)) if runtime == "portbench-native" else found
