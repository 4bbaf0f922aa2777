"""Detects a run that cannot end, by its client's progress as the board's chips and the simulated PC see it.

On the cable that is a link, an address, a connection. A step that never comes is reported long before the client gives
up, in simulated time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Final

from portbench.boards.board import Unattended
from portbench.boards.definition import MASK, BoardDefinition, Wifi
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.liveness import ChipUse, no_frame
from portbench.boards.emulated.simulation import Simulation
from portbench.server.calls import Listening
from portbench.server.simulated_polling import SimulatedPolling
from portbench.server.simulated_requests import SimulatedRequests
from portbench.workloads import Session

if TYPE_CHECKING:
    from portbench_engine import Machine

NO_LINK_US: Final = 8e6
"""Beyond the PHY's own delay: no auto-negotiation takes longer, and no cable is out for so long by chance."""
NO_ANSWER_US: Final = 5e6
"""Beyond the DHCP server's own delay."""
REFUSED_US: Final = 2e6
_REFUSALS: Final = 3
_FRAMES: Final = 256
"""Frames of each direction between two looks; a client without a connection sends few."""

_SETTLED: Final = ("Detached", "Configured", "Failed")
"""States of the USB port in which the PC waits for nothing more."""
_NO_LINK: Final = "the cable is out, or the Ethernet chip is held in reset"
_NOT_JOINED: Final = "the board has not joined the access point"
_DELIVERED: Final = "Delivered"
_TCP, _UDP = 6, 17
_DHCP_SERVER, _DHCP_CLIENT = 67, 68
_SYN, _RST, _ACK = 2, 4, 16


class WayToPc:
    """The way of one run's client. `phy_link_delay_us`, `dhcp_delay_us`: the delays of its surroundings."""

    def __init__(
        self, cable: Machine, phy_link_delay_us: float, dhcp_delay_us: float, *, wireless: bool = False
    ) -> None:
        self._cable = cable
        self._without_link = _NOT_JOINED if wireless else _NO_LINK
        self._phy_link_delay_us = phy_link_delay_us
        self._dhcp_delay_us = dhcp_delay_us
        self._linked = False
        self._unlinked_since_us: float | None = cable.time_us
        self._asked_us: float | None = None
        self._refused: tuple[float, str] | None = None
        self._refusals = 0
        self._connected = False
        cable.log_frames(_FRAMES)
        cable.lan_frames()  # drop earlier frames

    def look(self) -> None:
        """Look at the frames since the last look."""
        now_us = self._cable.time_us
        if self._cable.link_up:
            self._linked, self._unlinked_since_us = True, None
        elif self._unlinked_since_us is None:
            self._unlinked_since_us = now_us
        if self._connected:
            return
        for _, _, to_board, fate, frame in self._cable.lan_frames():
            # A frame of the PC is an answer even where it was lost: the client asks again.
            if to_board or fate == _DELIVERED:
                self._see(frame, to_board, now_us)
        if self._connected:
            self._cable.log_frames(0)

    def lost(self) -> str | None:
        """Return why the client cannot get to the PC, as one line; None where no such reason is known."""
        now_us = self._cable.time_us
        if self._unlinked_since_us is not None:
            limit_us = NO_LINK_US + (0.0 if self._linked else self._phy_link_delay_us)
            if now_us - self._unlinked_since_us >= limit_us:
                return f"no link for {limit_us / 1e6:g} s of simulated time: {self._without_link}"
        if self._connected:
            return None
        limit_us = NO_ANSWER_US + self._dhcp_delay_us
        if self._asked_us is not None and now_us - self._asked_us >= limit_us:
            return (
                f"no DHCP answer in {limit_us / 1e6:g} s of simulated time: there is no DHCP server on this LAN; use"
                " -s address_mode=static"
            )
        if self._refused is not None and self._refusals >= _REFUSALS and now_us - self._refused[0] >= REFUSED_US:
            return f"connection refused: nothing listens at {self._refused[1]}"
        return None

    def _see(self, frame: bytes, to_board: bool, now_us: float) -> None:
        header_bytes = 4 * (frame[14] & 0xF) if len(frame) >= 34 and frame[12:14] == b"\x08\x00" else 0
        body = frame[14 + header_bytes :]
        if header_bytes < 20 or len(body) < 8:
            return
        source, destination = struct.unpack_from(">HH", body)
        if frame[23] == _UDP and (source, destination) == (_DHCP_CLIENT, _DHCP_SERVER) and not to_board:
            self._asked_us = now_us if self._asked_us is None else self._asked_us
        elif frame[23] == _UDP and (source, destination) == (_DHCP_SERVER, _DHCP_CLIENT) and to_board:
            self._asked_us = None
        elif frame[23] == _TCP and len(body) >= 20:
            flags, sequence = body[13], body[4:8]
            self._connected |= flags & (_SYN | _ACK) == _SYN | _ACK
            # A reset of an open connection has the expected sequence number instead (RFC 9293, 3.10.7.1).
            if to_board and flags & (_RST | _ACK) == _RST | _ACK and sequence == bytes(4):
                self._refusals += 1
                self._refused = self._refused or (now_us, f"{IPv4Address(frame[26:30])}:{source}")


FIRST_FRAME_US: Final = 10e6
"""Twice what our own clients get: sketches like to wait for a terminal first."""


class ClientWatch:
    """The watch over one board's runs. `alone`: the facts of an image that does not report the end of its run."""

    def __init__(
        self,
        simulation: Simulation,
        definition: BoardDefinition,
        config: EmulatedConfig,
        alone: Unattended | None = None,
    ) -> None:
        self.alone = alone
        self._simulation = simulation
        self._definition = definition
        self._config = config
        self._networked = False
        self._last_start = (0.0, 0)
        self._since: tuple[float, int] | None = None
        self._chip_use = ChipUse(0.0, 0)
        self._way: WayToPc | None = None

    def expect(self, networked: bool, *, started: bool) -> None:
        """Expect a run. `networked`: its client has to speak to its Ethernet chip before it can do anything else, from
        the last start of the board on (`started`) or from the next."""
        self._networked = networked
        self._since, self._way = None, None
        if networked and started:
            self._start()

    def powered_up(self, config: EmulatedConfig) -> None:
        self._config = config
        self._last_start = (0.0, 0)
        self._since, self._way = None, None
        if self._networked:
            self._start()

    def was_reset(self) -> None:
        """The board starts again."""
        self._last_start = (self._simulation.time_us, self._simulation.machine.stats()["chip_selects"])
        if self._networked:
            self._start()

    def look(self) -> None:
        """Follow the client on its way to the PC."""
        if self._way is not None:
            self._way.look()

    def stuck(self, *, finished: bool) -> str | None:
        """Return why the run that is on will never end, as one line; None where no such reason is known."""
        simulation, pc, network = self._simulation, self._simulation.pc, self._definition.network
        now_us = simulation.time_us
        if (stuck := simulation.stuck) is not None or finished:
            return stuck
        if self._since is None or network is None or pc is None or self.in_bootloader:
            return None
        stats = simulation.machine.stats()
        since_us, selects = self._since
        took_us, used = now_us - since_us, stats["chip_selects"] - selects
        if self.alone is None:
            lost = None if self._way is None else self._way.lost()
            hangs = self._chip_use.ended(now_us, network.chip, used, pc.pause_us)
            if hangs is not None and simulation.machine.usb().get("port", "Detached") not in _SETTLED:
                self._chip_use.begin_again(now_us)  # the client may wait for its console
                hangs = None
            return simulation.liveness.because(no_frame(took_us, network.chip, used) or lost or hangs)
        unused = no_frame(took_us, network.chip, used, FIRST_FRAME_US)
        link_up, frames = simulation.machine.link_up, stats["frames_from_board"]
        if pc.polling is not None:
            lost = not_taken(took_us, self.alone, pc.polling, link_up=link_up, frames_from_board=frames)
            return simulation.liveness.because(unused or lost)
        known = simulation.machine.board_address
        lost = given_up(
            now_us,
            self.alone,
            pc.sessions(),
            link_up=link_up,
            frames_from_board=frames,
            server=Listening(self._config.pc_ip, self._config.server_port),
            board=None if known is None else IPv4Address(known),
        )
        return simulation.liveness.because(unused or lost)

    @property
    def in_bootloader(self) -> bool:
        usb, ids = self._simulation.machine.usb(), self._definition.usb.bootloader
        return self._simulation.in_boot_loader or (usb.get("vid"), usb.get("pid")) == (ids.vid, ids.pid)

    def _start(self) -> None:
        self._since = self._last_start
        self._chip_use = ChipUse(self._last_start[0], 0)
        if (network := self._definition.network) is not None and self.alone is None:
            config, machine, wireless = self._config, self._simulation.machine, isinstance(network, Wifi)
            self._way = WayToPc(machine, config.phy_link_delay_us, config.dhcp_delay_us, wireless=wireless)


def given_up(
    now_us: float,
    alone: Unattended,
    sessions: Sequence[Session],
    *,
    link_up: bool,
    frames_from_board: int,
    server: Listening,
    board: IPv4Address | None = None,
) -> str | None:
    """Return why an image that calls the PC will not finish its run, as one line; None while it still may.

    Times are since power-up, of a run whose end has not come yet.
    """
    ready_us = alone.ready_s * 1e6
    within = f"in {alone.ready_s:g} s of simulated time"
    if not sessions:
        pc = server.address
        if now_us >= ready_us / 2 and link_up:
            if not frames_from_board:
                return (
                    f"no frame from the board in {alone.ready_s / 2:g} s of simulated time: the image calls no PC; if"
                    " it is an HTTP server, measure it with --workload http"
                )
            if board is not None and board not in IPv4Network(f"{pc}/{MASK}", strict=False):
                return f"the board is {board}, in another network than the PC at {pc}; give it -s pc_address=ADDRESS"
        if now_us < ready_us:
            return None
        if not frames_from_board:
            return f"no frame from the board {within}: its link is not up"
        return f"no connection to {server} {within}, only {frames_from_board} frames for others"
    last = sessions[-1]
    after = f"after {last.exchanges} of {alone.exchanges} exchanges"
    if last.error is not None:
        return f"{last.peer}: {last.error} ({after})"
    if last.ended_us is not None:
        return f"{last.peer} closed {after}; ask for fewer, or let the client play until the PC closes"
    heard_us = last.last_byte_us or last.established_us or last.started_us
    if now_us - heard_us >= ready_us:
        return f"{last.peer} is silent {within} {after}"
    return None


def not_taken(
    now_us: float,
    alone: Unattended,
    polling: SimulatedPolling | SimulatedRequests,
    *,
    link_up: bool,
    frames_from_board: int,
) -> str | None:
    """Return the same of an image that serves, while the PC calls it in vain."""
    board = polling.board
    if polling.taken or now_us < alone.ready_s * 1e6:
        return None
    within = f"in {alone.ready_s:g} s of simulated time"
    if board is None and frames_from_board:
        return f"no address in the {frames_from_board} frames of the board {within}"
    if board is None or not link_up:
        return f"no frame from the board {within}" + ("" if link_up else ": its link is not up")
    if not polling.has_address:
        return f"no board at {board.address} {within}, and none that asked for an address by DHCP"
    if polling.refusals:
        return f"nothing listens at {board} {within}: refused {polling.refusals} times"
    return f"no answer from {board} {within}"
