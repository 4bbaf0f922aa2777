"""A run's frames as pcapng, with a comment at each exchange and its answer, for Wireshark and tshark."""

import struct
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, NamedTuple

from portbench.files import replacing
from portbench.workloads import Session

_PCAP_HEADER: Final = struct.Struct("<IHHiIII")
_PCAP_RECORD: Final = struct.Struct("<IIII")
_MAGIC_NANOSECONDS: Final = 0xA1B2_3C4D
_ETHERNET: Final = 1
_ETHERNET_HEADER: Final = 14
_NS_PER_US: Final = 1000


class CapturedFrame(NamedTuple):
    time_ns: int
    data: bytes


def write_pcapng(path: Path, capture: Path, session: Session | None, pc: IPv4Address, title: str, exchange: str) -> int:
    """The frames of `capture`, the engine's own file; returns how many. `exchange`: the workload's noun for one."""
    from pcapng import FileWriter, blocks

    header = blocks.SectionHeader(options={"shb_userappl": "portbench", "opt_comment": title})
    interface = header.new_member(
        blocks.InterfaceDescription,
        link_type=_ETHERNET,
        snaplen=65535,
        options={"if_name": "lan", "if_description": "the simulated PC's port", "if_tsresol": b"\x09"},
    )
    frames = list(read_capture(capture))
    said = comments(frames, session, pc, exchange) if session is not None else {}
    with replacing(path) as file:
        writer = FileWriter(file, header)
        for index, frame in enumerate(frames):
            block = header.new_member(
                blocks.EnhancedPacket,
                interface_id=interface.interface_id,
                timestamp_high=frame.time_ns >> 32,
                timestamp_low=frame.time_ns & 0xFFFF_FFFF,
                packet_data=frame.data,
                captured_len=len(frame.data),
                packet_len=len(frame.data),
                options={"opt_comment": said[index]} if index in said else {},
            )
            writer.write_block(block)
    return len(frames)


def read_capture(path: Path) -> Iterator[CapturedFrame]:
    """The frames of a pcap file as the engine writes it. Raises ValueError for another."""
    data = path.read_bytes()
    if len(data) < _PCAP_HEADER.size or _PCAP_HEADER.unpack_from(data)[0] != _MAGIC_NANOSECONDS:
        raise ValueError(f"{path}: no pcap file with nanoseconds")
    at = _PCAP_HEADER.size
    while at < len(data):
        seconds, nanoseconds, length, _ = _PCAP_RECORD.unpack_from(data, at)
        at += _PCAP_RECORD.size
        yield CapturedFrame(seconds * 1_000_000_000 + nanoseconds, data[at : at + length])
        at += length


def comments(frames: list[CapturedFrame], session: Session, pc: IPv4Address, exchange: str) -> dict[int, str]:
    """Comments of frames, by index: the exchange that the frame completes or answers."""
    payload = [(index, frame.time_ns, carries_data(frame.data, pc)) for index, frame in enumerate(frames)]
    asked = [(index, time_ns) for index, time_ns, sender in payload if sender == "board"]
    answered = [(index, time_ns) for index, time_ns, sender in payload if sender == "pc"]
    said: dict[int, str] = {}
    total = len(session.received_us)
    ask = answer = 0
    for number, received_us in enumerate(session.received_us, 1):
        # The file has nanoseconds, the engine picoseconds.
        received_ns = received_us * _NS_PER_US + 1
        while ask + 1 < len(asked) and asked[ask + 1][1] <= received_ns:
            ask += 1
        if ask < len(asked) and asked[ask][1] <= received_ns:
            after = (
                f", {received_us - session.received_us[number - 2]:.1f} us after the one before" if number > 1 else ""
            )
            _say(said, asked[ask][0], f"{exchange} {number} of {total}{after}")
        while answer < len(answered) and answered[answer][1] < received_ns - 1:
            answer += 1
        if answer < len(answered):
            index, time_ns = answered[answer]
            later_us = time_ns / _NS_PER_US - received_us
            _say(said, index, f"answer to {exchange} {number}, {later_us:.1f} us later")
    return said


def _say(said: dict[int, str], index: int, text: str) -> None:
    said[index] = f"{said[index]}; {text}" if index in said else text


def carries_data(frame: bytes, pc: IPv4Address) -> str | None:
    """The sender of a TCP segment with data, `pc` or `board`; None for any other frame."""
    ip = frame[_ETHERNET_HEADER:]
    if frame[12:14] != b"\x08\x00" or len(ip) < 20 or ip[9] != 6:
        return None
    header = (ip[0] & 15) * 4
    total = int.from_bytes(ip[2:4], "big")
    tcp = ip[header:total]
    if len(tcp) < 20 or len(tcp) == (tcp[12] >> 4) * 4:
        return None
    return "pc" if ip[12:16] == pc.packed else "board"
