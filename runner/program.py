"""The store of images, and the program of a row: image, client and their parameters."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from pydantic import ValidationError

from portbench.boards import (
    Board,
    BoardDefinition,
    Deployment,
    Wifi,
    WifiCredentials,
    board_definition,
    known_boards,
    require_wiring,
    users_credentials,
)
from portbench.clients import ClientNetwork, StaticAddress, build_deployment, nic_line
from portbench.errors import PortbenchError, Unsupported
from portbench.firmware import native_config, uf2
from portbench.firmware.catalogue import FirmwareEntry, Profile
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, ImageStore
from portbench.runner.options import How
from portbench.runner.plan import PlannedRow, client_family
from portbench.runner.stages import Program, Stage
from portbench.where import Where
from portbench.workloads import Native


@dataclass(frozen=True)
class Peer:
    """The PC's server as the board sees it; without an address, `port` is the port on which the board listens."""

    address: IPv4Address | None
    port: int


def build_program(row: PlannedRow, image: Image, board: Board, peer: Peer | None, scratch: Path) -> Program:
    """The program of `row`; a configured image is written to `scratch`. Raises PortbenchError.

    `peer` None: the workload needs no network.
    """
    traits, libraries = row.entry.family.traits, row.how.libraries
    if libraries and (traits.client_in_image or traits.timed_by_pc):
        raise Unsupported(f"{row.entry.id} takes no Python library; leave out --library {libraries[0].name}")
    if traits.client_in_image:
        if peer is None or peer.address is None:
            raise PortbenchError(f"{row.workload.name}: the native client has no server to report to")
        require_wiring(row.board, board_definition(row.entry.board), row.entry.id)
        return _native(row, image, peer, _static(board, row.how), scratch)
    if traits.timed_by_pc:
        return Program(image.file, Deployment({}, "foreign"), has_console=False)
    network = None if peer is None else _network(row, peer, _static(board, row.how), _wifi(row, board))
    identity = image.file.identity if image.file else None
    deployment = build_deployment(
        row.client_family,
        (identity and identity.version) or image.version,
        row.board,
        row.workload,
        row.settings,
        network,
        row.how.timeouts_s[Stage.DEPLOY],
        identity.frozen if identity else (),
        libraries,
    )
    return Program(image.file, deployment, has_console=True)


def _network(row: PlannedRow, peer: Peer, static: StaticAddress | None, wifi: WifiCredentials | None) -> ClientNetwork:
    try:
        return ClientNetwork(
            server=peer.address,
            port=peer.port,
            address_mode=row.how.address_mode,
            static=static,
            spi_hz=row.profile.spi_hz,
            intn=asks_intn(row.profile),
            ready_timeout_s=row.how.timeouts_s[Stage.READY],
            wifi=wifi,
            power_save=row.profile.power_save,
        )
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        name = ".".join(map(str, detail["loc"]))
        raise PortbenchError(f"client: {name} is {detail['input']!r}: {detail['msg']}") from None


def _native(row: PlannedRow, image: Image, peer: Peer, static: StaticAddress | None, scratch: Path) -> Program:
    """The native client has no file system: its parameters are a block of the image."""
    if image.file is None or image.file.content is None:
        raise PortbenchError(f"{row.entry.id}: has no UF2 file")
    spi_hz, intn = native_sets(row.profile)
    assert isinstance(row.workload, Native)
    count, *further = row.workload.native_settings(row.settings)
    block = native_config.pack(
        native_config.NativeConfig(
            server=peer.address,
            port=peer.port,
            count=count,
            settings=further,
            static=static,
            intn=intn,
            spi_hz=spi_hz,
            ready_timeout_ms=int(row.how.timeouts_s[Stage.READY] * 1000),
        )
    )
    merged = uf2.with_data(image.file.content, native_config.CONFIG_ADDRESS, block.ljust(4096, b"\xff"))
    path = scratch / image.file.path.name
    path.write_bytes(merged)
    return Program(Uf2File.of(path, merged), Deployment({}, "native"), has_console=False)


def asks_intn(profile: Profile) -> bool:
    """True if the client uses the INTn pin, given firmware that can."""
    return profile.intn is not False


def native_sets(profile: Profile) -> tuple[int, bool]:
    """spi_hz and intn of the native client's block."""
    return profile.spi_hz or native_config.NativeConfig().spi_hz, asks_intn(profile)


def profile_line(entry: FirmwareEntry, board: BoardDefinition, profile: Profile) -> str | None:
    """The line of the client that the profile changes; None without a network or without our client.

    Raises PortbenchError for a client that cannot be read.
    """
    if entry.family.traits.client_in_image:
        spi_hz, intn = native_sets(profile)
        return f"NativeConfig(spi_hz={spi_hz:_}, intn={intn})"
    if board.network is None or entry.family.traits.timed_by_pc:
        return None
    return nic_line(
        client_family(entry),
        board,
        spi_hz=profile.spi_hz,
        intn=asks_intn(profile),
        power_save=profile.power_save,
        version=entry.version or "",
    )


def _wifi(row: PlannedRow, board: Board) -> WifiCredentials | None:
    if not isinstance(row.board.network, Wifi):
        return None
    return users_credentials() if board.own_network is None else board.own_network.wifi


def _static(board: Board, how: How) -> StaticAddress | None:
    if how.address_mode == "dhcp":
        return None
    if how.static is not None:
        return how.static
    if board.own_network is not None:
        return StaticAddress(*board.own_network.static)
    if board.where is Where.HOSTED:
        return StaticAddress(*(IPv4Address("127.0.0.1") for _ in range(4)))  # unused: the PC has its address
    raise PortbenchError("address_mode=static needs the board's address: -s static_address=IP,MASK,GATEWAY,DNS")


def image_store(entries: Iterable[FirmwareEntry] = (), *, offline: bool | None = None) -> ImageStore:
    """The image store of the user's folders, with the names that boards give themselves. Raises PortbenchError."""
    machines = {each.id: each.machine for each in known_boards().values()}
    return ImageStore(entries, machines=machines, offline=offline)
