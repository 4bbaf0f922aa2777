"""Puts together what a row needs on its board: image, client and their parameters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from portbench.boards import Board, Deployment, board_definition, require_wiring
from portbench.clients import ClientConfig, StaticAddress, build_deployment
from portbench.firmware import native_config, uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import identify
from portbench.firmware.images import Image
from portbench.runner.client_result import RunFailed
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRun
from portbench.runner.stages import Program
from portbench.runner.timeouts import Stage


@dataclass(frozen=True)
class Peer:
    """The ping-pong server as the board sees it."""

    address: IPv4Address
    port: int


def build_program(
    run: PlannedRun, image: Image, board: Board, peer: Peer, options: BenchOptions, scratch: Path
) -> Program:
    """The program of `run`; an image with a configuration of its own is written to `scratch`.

    Raises BoardUnavailable, DeploymentError, NativeConfigError or RunFailed.
    """
    static = _static(board, options)
    if run.entry.family is Family.NATIVE:
        require_wiring(options.board, board_definition(run.entry.board), run.entry.id)
        return _native(run, image, peer, static, options, scratch)
    config = ClientConfig(
        server=peer.address,
        port=peer.port,
        messages=options.messages,
        address_mode=options.address_mode,
        static=static,
        spi_hz=run.profile.spi_hz,
        intn=run.profile.intn is not False,
        ready_timeout_s=options.timeouts_s[Stage.READY],
    )
    deployment = build_deployment(_client(run), image.version, options.board, config, options.timeouts_s[Stage.DEPLOY])
    if image.path is None:
        return Program(None, None, None, deployment, has_console=True)
    return Program(image.path, image.sha256, identify(uf2.read(image.path)), deployment, has_console=True)


def _client(run: PlannedRun) -> str:
    """The family of the client: hosted ports differ in theirs."""
    if run.entry.family is Family.HOSTED and run.entry.package == "adafruit-circuitpython-wiznet5k":
        return "blinka"
    return str(run.entry.family)


def _native(
    run: PlannedRun, image: Image, peer: Peer, static: StaticAddress | None, options: BenchOptions, scratch: Path
) -> Program:
    """The native client has no file system: its parameters are a block of the image."""
    if image.path is None:
        raise RunFailed(f"{run.entry.id}: has no image file")
    defaults = native_config.NativeConfig()
    block = native_config.pack(
        native_config.NativeConfig(
            server=peer.address,
            port=peer.port,
            messages=options.messages,
            static=native_config.StaticAddress(static.ip, static.mask, static.gateway) if static else None,
            intn=run.profile.intn is not False,
            spi_hz=run.profile.spi_hz or defaults.spi_hz,
            ready_timeout_ms=int(options.timeouts_s[Stage.READY] * 1000),
        )
    )
    merged = uf2.with_data(uf2.read(image.path), native_config.CONFIG_ADDRESS, block.ljust(4096, b"\xff"))
    path = scratch / image.path.name
    path.write_bytes(merged)
    return Program(path, hashlib.sha256(merged).hexdigest(), None, Deployment({}, "native"), has_console=False)


def _static(board: Board, options: BenchOptions) -> StaticAddress | None:
    if options.address_mode == "dhcp":
        return None
    if options.static is not None:
        return options.static
    if board.own_network is not None:
        return StaticAddress(*board.own_network.static)
    if board.where == "hosted":
        return StaticAddress(*(IPv4Address("127.0.0.1") for _ in range(4)))  # unused: the PC has its address
    raise RunFailed("--address-mode static needs the board's address: --static-address IP,MASK,GATEWAY,DNS")
