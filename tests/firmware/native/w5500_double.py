"""A W5500 with scripted peers: enough of the chip to run the native firmware, no wire and no timing.

It keeps the register file of the datasheet's chapter 3 and acts on socket commands at once. TCP peers are `TcpServer`
objects, DHCP is answered by `DhcpServer`; both reply after a simulated delay. It knows no emulator: that of the board
is its `Host`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Final, Protocol

CSN, RSTN, INTN = 17, 20, 21

OPEN, CONNECT, DISCON, CLOSE, SEND, RECV = 0x01, 0x04, 0x08, 0x10, 0x20, 0x40
IR_CON, IR_DISCON, IR_RECV, IR_TIMEOUT, IR_SENDOK = 0x01, 0x02, 0x04, 0x08, 0x10
CLOSED, INIT, ESTABLISHED, CLOSE_WAIT, UDP = 0x00, 0x13, 0x17, 0x1C, 0x22

SN_MR, SN_CR, SN_IR, SN_SR, SN_PORT, SN_DIPR, SN_DPORT = 0x00, 0x01, 0x02, 0x03, 0x04, 0x0C, 0x10
SN_TX_FSR, SN_TX_RD, SN_TX_WR, SN_RX_RSR, SN_RX_RD, SN_RX_WR, SN_IMR = 0x20, 0x22, 0x24, 0x26, 0x28, 0x2A, 0x2C
RXBUF_SIZE, TXBUF_SIZE = 0x1E, 0x1F
SIR, SIMR, PHYCFGR, VERSIONR = 0x17, 0x18, 0x2E, 0x39

REPLY_DELAY_NS: Final = 50_000


class End(Enum):
    """A peer's end of a connection."""

    FIN = "FIN"
    RST = "RST"


class TcpServer(Protocol):
    """The other end of TCP connections."""

    def accept(self, address: str, port: int) -> bool: ...
    def receive(self, data: bytes) -> list[bytes] | End:
        """Segments to send back one after the other, or the end of the connection."""

    def closed(self) -> None: ...


@dataclass
class DhcpServer:
    """Leases one address; drops the first `drop` requests of any kind, then answers NAK to `nak` REQUESTs."""

    address: str = "192.168.1.50"
    server: str = "192.168.1.2"
    drop: int = 0
    nak: int = 0
    seen: list[int] = field(default_factory=list)

    def receive(self, message: bytes) -> bytes | None:
        assert message[236:240] == bytes([99, 130, 83, 99])
        assert message[10] & 0x80, "a client without an address needs broadcast replies"
        assert message[240] == 53
        kind = message[242]
        self.seen.append(kind)
        if self.drop:
            self.drop -= 1
            return None
        answer = {1: 2, 3: 5}[kind]
        if kind == 3 and self.nak:
            self.nak -= 1
            answer = 6
        address = pack_ipv4(self.address) if answer != 6 else bytes(4)
        fixed = b"\x02\x01\x06\x00" + message[4:8] + bytes(8) + address + bytes(8) + message[28:44] + bytes(192)
        server = pack_ipv4(self.server)
        options = bytes(
            [53, 1, answer, 54, 4, *server, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 3, 4, *server, 255]
        )
        return fixed + bytes([99, 130, 83, 99]) + options


def pack_ipv4(text: str) -> bytes:
    return bytes(int(part) for part in text.split("."))


class Host(Protocol):
    """The board on which the chip is."""

    @property
    def now_ns(self) -> float:
        """Simulated time."""

    def after(self, nanoseconds: float, action: Callable[[], None]) -> None:
        """Call `action` in that time."""

    def drive_intn(self, low: bool) -> None:
        """Drive INTn low, or let it be high."""


class W5500Double:
    """Give it its `host` before execution. `link_after_us` counts from the release of RSTn."""

    host: Host

    def __init__(self, server: TcpServer, dhcp: DhcpServer | None = None, *, link_after_us: float = 2000) -> None:
        self.server = server
        self.dhcp = dhcp
        self.link_after_us = link_after_us
        self.present = True
        self.released_ns: float | None = None
        self.frames: list[tuple[int, int, bool, bytes]] = []
        """(block, address, write, data) of every frame"""
        self.problems: list[str] = []
        self._frame = bytearray()
        self._reset_state()

    def _reset_state(self) -> None:
        self.common = bytearray(0x40)
        self.common[VERSIONR] = 4
        self.common[0x19:0x1C] = b"\x07\xd0\x08"
        self.sockets = [bytearray(0x30) for _ in range(8)]
        for socket in self.sockets:
            socket[RXBUF_SIZE] = socket[TXBUF_SIZE] = 2
        self.tx = [bytearray(0x10000) for _ in range(8)]
        self.rx = [bytearray(0x10000) for _ in range(8)]

    def reset(self) -> None:
        """RSTn is low."""
        self._reset_state()
        self.released_ns = None
        self._update_intn()

    def release(self) -> None:
        """RSTn is high."""
        self.released_ns = self.host.now_ns
        self._update_intn()

    def end_frame(self) -> None:
        """CSn is high."""
        if len(self._frame) > 3:
            address = self._frame[0] << 8 | self._frame[1]
            control = self._frame[2]
            self.frames.append((control >> 3, address, bool(control & 4), bytes(self._frame[3:])))
            if control & 3:
                self.problems.append(f"not variable length mode: {control:#04x}")
        self._frame.clear()

    @property
    def miso(self) -> int:
        """The next byte on MISO of a selected chip."""
        if not self._answers or len(self._frame) < 3 or self._frame[2] & 4:
            return 0xFF
        return self._access(None)

    def mosi(self, byte: int) -> None:
        """The byte on MOSI at the same time."""
        if self._answers:
            if len(self._frame) >= 3 and self._frame[2] & 4:
                self._access(byte)
            self._frame.append(byte)

    @property
    def _answers(self) -> bool:
        return self.released_ns is not None and self.present

    def _access(self, value: int | None) -> int:
        """Read the byte that the frame has come to, or write it."""
        block = self._frame[2] >> 3
        offset = (self._frame[0] << 8 | self._frame[1]) + len(self._frame) - 3
        number, kind = divmod(block, 4)
        if block == 0:
            return self._common_access(offset, value)
        memory = (None, self.sockets[number], self.tx[number], self.rx[number])[kind]
        if memory is None:
            self.problems.append(f"reserved block {block}")
            return 0
        if kind != 1:
            size = self.sockets[number][TXBUF_SIZE if kind == 2 else RXBUF_SIZE] << 10
            offset %= size or 1
            if value is not None and kind == 3:
                self.problems.append("write into a receive buffer")
        elif value is not None:
            self._socket_write(number, offset, value)
            return 0
        elif offset in (SN_TX_FSR, SN_TX_FSR + 1):
            self._refresh(number)
        if value is not None:
            memory[offset] = value
        return memory[offset]

    def _common_access(self, offset: int, value: int | None) -> int:
        if value is not None:
            self.common[offset] = value
            self._update_intn()
        if offset == PHYCFGR:
            assert self.released_ns is not None
            up = self.host.now_ns - self.released_ns >= self.link_after_us * 1000
            return 0xBF if up else 0xB8
        return self.common[offset]

    def _word(self, number: int, offset: int, value: int | None = None) -> int:
        socket = self.sockets[number]
        if value is not None:
            struct.pack_into(">H", socket, offset, value & 0xFFFF)
        word: int = struct.unpack_from(">H", socket, offset)[0]
        return word

    def _refresh(self, number: int) -> None:
        used = (self._word(number, SN_TX_WR) - self._word(number, SN_TX_RD)) & 0xFFFF
        self._word(number, SN_TX_FSR, (self.sockets[number][TXBUF_SIZE] << 10) - used)

    def _socket_write(self, number: int, offset: int, value: int) -> None:
        socket = self.sockets[number]
        if offset == SN_IR:
            socket[SN_IR] &= ~value
            self._update_intn()
        elif offset == SN_CR:
            self._command(number, value)
        else:
            socket[offset] = value

    def _raise(self, number: int, flags: int) -> None:
        self.sockets[number][SN_IR] |= flags
        self._update_intn()

    def _update_intn(self) -> None:
        self.common[SIR] = sum(1 << n for n, s in enumerate(self.sockets) if s[SN_IR] & (s[SN_IMR] or 0xFF))
        self.host.drive_intn(bool(self.common[SIR] & self.common[SIMR]))

    def _command(self, number: int, command: int) -> None:
        socket = self.sockets[number]
        mode = socket[SN_MR] & 0x0F
        if command == OPEN:
            socket[SN_SR] = {1: INIT, 2: UDP}[mode]
            for offset in (SN_TX_RD, SN_TX_WR, SN_RX_RD, SN_RX_WR, SN_RX_RSR):
                self._word(number, offset, 0)
        elif command == CONNECT:
            address = ".".join(map(str, socket[SN_DIPR : SN_DIPR + 4]))
            # A start value near the wrap of the 16-bit pointers, so that runs of a few messages cross it
            for offset in (SN_TX_RD, SN_TX_WR, SN_RX_RD, SN_RX_WR):
                self._word(number, offset, 0xFFF0)
            accepted = self.server.accept(address, self._word(number, SN_DPORT))
            self.host.after(REPLY_DELAY_NS, lambda: self._connected(number, accepted))
        elif command == SEND:
            start, end = self._word(number, SN_TX_RD), self._word(number, SN_TX_WR)
            size = socket[TXBUF_SIZE] << 10
            data = bytes(self.tx[number][(start + i) % size] for i in range((end - start) & 0xFFFF))
            self._word(number, SN_TX_RD, end)
            self._raise(number, IR_SENDOK)
            self._sent(number, mode, data)
        elif command == RECV:
            used = (self._word(number, SN_RX_WR) - self._word(number, SN_RX_RD)) & 0xFFFF
            self._word(number, SN_RX_RSR, used)
        elif command in (DISCON, CLOSE):
            if command == DISCON:
                self.server.closed()
            socket[SN_SR] = CLOSED
        else:
            self.problems.append(f"command {command:#04x}")

    def _connected(self, number: int, accepted: bool) -> None:
        if accepted:
            self.sockets[number][SN_SR] = ESTABLISHED
            self._raise(number, IR_CON)
        else:
            self.sockets[number][SN_SR] = CLOSED
            self._raise(number, IR_DISCON)

    def _sent(self, number: int, mode: int, data: bytes) -> None:
        if mode == 2:
            reply = self.dhcp.receive(data) if self.dhcp else None
            if reply is not None:
                assert self.dhcp is not None
                header = pack_ipv4(self.dhcp.server) + struct.pack(">HH", 67, len(reply))
                self.host.after(REPLY_DELAY_NS, lambda: self._arrive(number, header + reply))
            return
        answer = self.server.receive(data)
        if isinstance(answer, End):
            self.host.after(REPLY_DELAY_NS, lambda: self._ended_by_peer(number, answer))
            return
        for index, segment in enumerate(answer):
            self.host.after(REPLY_DELAY_NS * (index + 1), partial(self._arrive, number, segment))

    def _ended_by_peer(self, number: int, end: End) -> None:
        self.sockets[number][SN_SR] = CLOSE_WAIT if end is End.FIN else CLOSED
        self._raise(number, IR_DISCON)

    def _arrive(self, number: int, data: bytes) -> None:
        start = self._word(number, SN_RX_WR)
        size = self.sockets[number][RXBUF_SIZE] << 10
        for index, byte in enumerate(data):
            self.rx[number][(start + index) % size] = byte
        self._word(number, SN_RX_WR, start + len(data))
        self._word(number, SN_RX_RSR, self._word(number, SN_RX_RSR) + len(data))
        self._raise(number, IR_RECV)
