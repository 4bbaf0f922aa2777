"""Echo requests of the real PC, sent like those of ping(8)."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from typing import Final

from portbench.errors import PortbenchError
from portbench.workloads import Ping, PingPlan

_HEADER: Final = struct.Struct(">BBHHH")
"""Type, code, checksum, identifier, sequence number (RFC 792)."""
_REQUEST, _REPLY = 8, 0
_IDENT: Final = 0x5042
_MOST_BYTES: Final = 2048


async def ping(address: str, plan: PingPlan) -> list[Ping]:
    """The answers, in the order of the requests. Raises PortbenchError."""
    loop = asyncio.get_running_loop()
    round_trips_us: dict[int, float] = {}
    sent_ns: dict[int, int] = {}
    all_back = asyncio.Event()
    total = len(plan.sizes) * plan.count

    def take() -> None:
        now_ns = time.perf_counter_ns()
        with contextlib.suppress(OSError):
            data, (source, *_) = icmp.recvfrom(_MOST_BYTES)
            number = _answered(data, owns_identifier)
            if source == address and number in sent_ns and number not in round_trips_us:
                round_trips_us[number] = (now_ns - sent_ns[number]) / 1000
                if len(round_trips_us) == total:
                    all_back.set()

    with _socket(address) as (icmp, owns_identifier):
        icmp.setblocking(False)
        loop.add_reader(icmp, take)
        try:
            began_s = loop.time()
            for number, (at_us, size) in enumerate(plan):
                await asyncio.sleep(began_s + at_us / 1e6 - loop.time())
                request = _request(number, size)
                sent_ns[number] = time.perf_counter_ns()
                with contextlib.suppress(BlockingIOError):  # counts as a lost request
                    icmp.sendto(request, (address, 0))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(plan.wait_us / 1e6):
                    await all_back.wait()
        except OSError as error:
            raise PortbenchError(f"ping {address}: cannot send ({error.strerror or error})") from error
        finally:
            loop.remove_reader(icmp)
    return [Ping(size, round_trips_us.get(number)) for number, (_, size) in enumerate(plan)]


@contextlib.contextmanager
def _socket(address: str) -> Iterator[tuple[socket.socket, bool]]:
    """The socket, and True if the kernel sets the identifier and delivers only our answers."""
    try:
        try:
            made, owns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP), True
        except PermissionError:
            made, owns = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), False
    except OSError as error:
        raise PortbenchError(
            f"ping {address}: not allowed on this PC ({error.strerror}); allow it with: sudo sysctl -w"
            " net.ipv4.ping_group_range='0 2147483647'"
        ) from error
    with made:
        yield made, owns


def _request(number: int, size: int) -> bytes:
    data = bytes(index & 0xFF for index in range(size))
    head = _HEADER.pack(_REQUEST, 0, 0, _IDENT, number)
    return _HEADER.pack(_REQUEST, 0, _checksum(head + data), _IDENT, number) + data


def _answered(packet: bytes, owns_identifier: bool) -> int | None:
    """The answered sequence number; None for any other packet. Some systems include the IP header."""
    if packet[:1] and packet[0] >> 4 == 4:
        packet = packet[4 * (packet[0] & 0xF) :]
    if len(packet) < _HEADER.size:
        return None
    kind, code, _, ident, number = _HEADER.unpack_from(packet)
    ours = (kind, code) == (_REPLY, 0) and (owns_identifier or ident == _IDENT)
    return int(number) if ours else None


def _checksum(data: bytes) -> int:
    """The Internet checksum, RFC 1071."""
    words: int = sum(struct.unpack(f">{len(data) // 2}H", data[: len(data) & ~1]))
    words += (data[-1] << 8) if len(data) & 1 else 0
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return ~words & 0xFFFF
