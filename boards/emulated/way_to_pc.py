"""How far one of our clients has come to the PC, as its cable shows: a link, an address, a connection.

A step that never comes is reported long before the client gives up, in simulated time.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import Final, Protocol

NO_LINK_US: Final = 8e6
"""Beyond the PHY's own delay: no auto-negotiation takes longer, and no cable is out for so long by chance."""
NO_ANSWER_US: Final = 5e6
"""Beyond the DHCP server's own delay."""
REFUSED_US: Final = 2e6
_REFUSALS: Final = 3
_FRAMES: Final = 256
"""Frames of each direction between two looks; a client without a connection sends few."""

_DELIVERED: Final = "Delivered"
_TCP, _UDP = 6, 17
_DHCP_SERVER, _DHCP_CLIENT = 67, 68
_SYN, _RST, _ACK = 2, 4, 16


class Cable(Protocol):
    """The machine's end of the cable."""

    @property
    def time_us(self) -> float: ...
    @property
    def link_up(self) -> bool: ...
    def log_frames(self, limit: int) -> None: ...
    def lan_frames(self) -> list[tuple[float, float, bool, str, bytes]]: ...


class WayToPc:
    """The way of one run's client. `phy_link_delay_us`, `dhcp_delay_us`: the delays of its surroundings."""

    def __init__(self, cable: Cable, phy_link_delay_us: float, dhcp_delay_us: float) -> None:
        self._cable = cable
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
                return (
                    f"no link for {limit_us / 1e6:g} s of simulated time: the cable is out, or the Ethernet chip is"
                    " held in reset"
                )
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
