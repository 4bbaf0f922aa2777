"""Puts together what each family's client needs on the board."""

from __future__ import annotations

from collections.abc import Collection

from portbench.boards import BoardDefinition, Deployment, Ethernet
from portbench.clients.assembly import assemble
from portbench.clients.config import CONFIG_NAME, ClientNetwork, config_json
from portbench.clients.families import FAMILIES
from portbench.clients.folding import fold
from portbench.clients.frozen import hidden, ours_first
from portbench.clients.libraries import library_files
from portbench.clients.micropython_libraries import driver_files
from portbench.errors import PortbenchError
from portbench.workloads import Readiness, Workload, WorkloadSettings


def build_deployment(
    family: str,
    version: str,
    board: BoardDefinition,
    workload: Workload,
    settings: WorkloadSettings,
    network: ClientNetwork | None,
    timeout_s: float = 60.0,
    frozen: Collection[str] = (),
) -> Deployment:
    """The client of `family` for `board` with the workload's body, its configuration and its libraries.

    `timeout_s` bounds the download of a library that is not in the cache yet. `frozen`: modules that the image itself
    has. Raises PortbenchError.
    """
    if family not in FAMILIES:
        raise PortbenchError(f"no client for family {family!r}: there are {', '.join(FAMILIES)}")
    kind = FAMILIES[family]
    body = workload.body(kind.language)
    if body is None or not kind.runs(workload):
        raise PortbenchError(f"{workload.name}: cannot be run by {family}: it has no body in {kind.language}")
    ready = workload.readiness
    script = fold(assemble(kind.client(ready), kind.parts(ready, board), body, workload.entry, workload.title), board)
    files = {kind.script: script.encode(), CONFIG_NAME: config_json(settings, network)}
    try:
        asked = workload.libraries(family, settings)
    except ValueError as error:
        raise PortbenchError(str(error)) from None
    if kind.language == "micropython" and asked:
        files |= driver_files(asked, timeout_s)
    elif family == "circuitpython" and asked:
        files |= library_files(_major(version), timeout_s, names=asked)
    wired = isinstance(board.network, Ethernet)
    if family == "circuitpython" and wired and workload.readiness is not Readiness.BOOTED:
        files |= library_files(_major(version), timeout_s)
        if hidden(files, frozen):
            files[kind.script] = ours_first(script).encode()
    return Deployment(files, family)


def _major(version: str) -> int:
    major = version.split(".")[0]
    if not major.isdigit():
        raise PortbenchError(f"CircuitPython version {version!r} does not begin with its major number")
    return int(major)
