"""The built image on the emulated board, from reset: what it does on the wire and how it ends."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import pairwise
from typing import Any, Final

import pytest
from dpkt.dhcp import DHCP

from portbench.firmware import uf2
from portbench.firmware.native_config import CONFIG_ADDRESS, NativeConfig, StaticAddress, pack
from portbench.testing import Board
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine

MAC = bytes.fromhex("025042000007")
PC, LEASED = IPv4Address("192.168.50.1"), IPv4Address("192.168.50.50")
STATIC = StaticAddress(IPv4Address("192.168.50.7"), IPv4Address("255.255.255.0"), PC)
CONFIG = NativeConfig(count=8, mac=MAC, static=STATIC)
LIMIT_S = 20.0
UNDEFINED = b"\x00\xde" * 2
"""UDF #0, twice."""
PC_REGISTER: Final = 15

REPORT_KEYS = {
    "messages", "total_us", "ready_us", "link_us", "connect_attempts", "spi_hz_asked", "spi_hz_actual", "intn",
    "address", "address_mode", "runtime", "version", "machine", "clk_sys_hz", "run", "round_trip_us",
}  # fmt: skip


@dataclass
class PingPongServer:
    """Answers as the benchmark's server does; `at`: what it does at a message instead."""

    at: dict[int, str] = field(default_factory=dict)
    values: list[int] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """Reports, one for each connection."""
    clean_ends: int = 0

    def accept(self, conn: int, peer: str, now_us: float) -> tuple[bytes, bool, bool, None]:
        self.lines.append(b"")
        return b"", False, False, None

    def receive(self, conn: int, data: bytes, now_us: float) -> tuple[bytes, bool, bool, None]:
        if self.lines[-1] or data.startswith(b"{"):
            self.lines[-1] += data
            return b"", False, False, None
        self.values.append(int(data))
        does = self.at.get(len(self.values), "answers")
        answer = {"answers": b"%d" % (int(data) + 1), "is wrong": b"%d" % (int(data) + 2)}.get(does, b"")
        return answer, does == "closes", does == "resets", None

    def closed(self, conn: int, reset: bool, now_us: float) -> tuple[bytes, bool, bool, None]:
        self.clean_ends += not reset
        return b"", True, False, None

    @property
    def reports(self) -> list[dict[str, Any]]:
        found = [line for line in self.lines if line]
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in found)
        return [json.loads(line) for line in found]


@dataclass
class DhcpServer:
    """Leases one address, on a PC without a DHCP server; is silent `drop` times, then refuses `nak` requests."""

    drop: int = 0
    nak: int = 0
    seen: list[int] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)

    def receive(self, peer: str, data: bytes, now_us: float) -> list[tuple[float, bytes]]:
        request = DHCP(data)
        kind = dict(request.opts)[53][0]
        assert request.flags & 0x8000, "a client without an address needs broadcast replies"
        self.seen.append(kind)
        if self.drop:
            self.drop -= 1
            return []
        given, options = int(LEASED), {1: STATIC.mask.packed, 3: PC.packed}
        answer = {1: 2, 3: 5}[kind]
        if kind == 3 and self.nak:
            self.nak -= 1
            answer, given, options = 6, 0, {}
        told = ((53, bytes([answer])), (54, PC.packed), *options.items())
        self.answers.append(bytes(DHCP(op=2, xid=request.xid, yiaddr=given, chaddr=request.chaddr, opts=told)))
        return []


def board(config: NativeConfig | bytes | None = CONFIG, kind: str = "W5500_EVB_PICO", **settings: Any) -> Board:
    """Start the image. `config` None leaves that part of flash erased, and bytes are there as they are."""
    made = Board(kind, **{"phy_link_delay_us": 2000, "turnaround_us": 50, **settings})
    packed = config if isinstance(config, bytes) or config is None else pack(config)
    made.flash(NATIVE_IMAGE if packed is None else uf2.with_data(uf2.read(NATIVE_IMAGE), CONFIG_ADDRESS, packed))
    return made


def run(board: Board, server: PingPongServer | None = None, port: int = 5000, dhcp: DhcpServer | None = None) -> None:
    """Run until the board is in its boot loader."""
    if server is not None:
        board.machine.listen(port, server)
    if dhcp is not None:
        board.machine.udp_listen(67, dhcp)
    for _ in range(round(LIMIT_S / 0.01)):
        board.run(0.01)
        while dhcp is not None and dhcp.answers:
            # The PC answers at an address, and the board has none.
            board.machine.udp_send(67, "255.255.255.255:68", dhcp.answers.pop(0))
        if any("usb storage ready" in event for event in board.events):
            assert board.machine.volume_label() == "RPI-RP2" and board.fault is None
            return
    pytest.fail(f"the firmware did not finish: {board.report()}")


def resets(board: Board) -> int:
    return sum(event.startswith("reset: WATCHDOG") for event in board.events)


def macs(board: Board) -> set[bytes]:
    return {frame.data[6:12] for frame in board.frames if not frame.to_board}


def asked_at_s(board: Board) -> Iterator[float]:
    """The times at which the board asks for a connection."""
    for frame in board.frames:
        if not frame.to_board and frame.data[23] == 6 and frame.data[47] == 2:  # a SYN alone
            yield frame.time_us / 1e6


@pytest.mark.parametrize("intn", [True, False], ids=["intn", "poll"])
def test_measures_and_reports(intn: bool) -> None:
    server, on = PingPongServer(), board(dataclasses.replace(CONFIG, count=60, intn=intn))
    run(on, server)
    assert server.values == list(range(1, 120, 2))
    (report,) = server.reports
    assert set(report) == REPORT_KEYS
    assert report["messages"] == len(report["round_trip_us"]) == 60
    assert sum(report["round_trip_us"]) <= report["total_us"] < sum(report["round_trip_us"]) + 60 * 5
    assert all(50 <= us <= 90 for us in report["round_trip_us"][1:])
    assert (report["intn"], report["address"], report["address_mode"]) == (intn, "192.168.50.7", "static")
    assert (report["spi_hz_asked"], report["spi_hz_actual"]) == (33_300_000, 33_250_000)
    assert (report["runtime"], report["run"], report["connect_attempts"]) == ("portbench-native", 1, 1)
    assert 2000 < report["link_us"] < report["ready_us"]
    assert server.clean_ends == 1 and macs(on) == {MAC}


def test_an_answer_in_pieces_is_one() -> None:
    on = board(dataclasses.replace(CONFIG, count=60))
    connection = on.listen(5000).accept()
    for value in range(1, 120, 2):
        connection.expect(b"%d" % value)
        for digit in str(value + 1):
            connection.send(digit.encode())
            on.run(0.001)
    assert connection.expect(rb'{"messages":60,.*"run":1,.*}\n')


def test_critical_path_is_four_frames() -> None:
    """Between an answer and the next message the bus carries Sn_RX_RSR, the answer, Sn_TX_WR and Sn_CR only."""
    on = board()
    on.machine.spi_log(True)
    run(on, PingPongServer())
    frames = [(name, write, data) for _, _, _, name, _, write, _, data, _, _ in on.machine.spi_log_take()]
    sends = [
        place for place, (name, write, data) in enumerate(frames) if (name, write, data) == ("S0_CR", True, b"\x20")
    ]
    reads = [place for place, (name, _, _) in enumerate(frames) if name == "S0 RX buffer"]
    path = ["S0_RX_RSR", "S0 RX buffer", "S0_TX_WR", "S0_CR"]
    for answer, send in zip(reads[:7], sends[1:8], strict=True):
        assert [name for name, _, _ in frames[answer - 1 : send + 1]] == path


@pytest.mark.parametrize("damaged", [False, True], ids=["erased", "damaged"])
def test_defaults_without_configuration(damaged: bool) -> None:
    """DHCP, the DHCP server is the server, its usual port, 1000 messages, a locally administered MAC."""
    block = bytearray(pack(dataclasses.replace(CONFIG, port=6000)))
    block[12] ^= 1
    server, on = PingPongServer(), board(bytes(block) if damaged else None)
    run(on, server)
    (report,) = server.reports
    assert report["messages"] == 1000
    assert (report["address"], report["address_mode"]) == (on.address, "dhcp")
    assert {mac[:3] for mac in macs(on)} == {b"\x02PB"}


@pytest.mark.parametrize(
    ("drop", "nak", "seen"),
    [(0, 0, [1, 3]), (2, 0, [1, 1, 1, 3]), (0, 2, [1, 3, 1, 3, 1, 3])],
)
def test_dhcp_retransmits_and_starts_again(drop: int, nak: int, seen: list[int]) -> None:
    server, dhcp = PingPongServer(), DhcpServer(drop, nak)
    on = board(NativeConfig(count=2, mac=MAC, server=PC, port=6001), dhcp=False)
    run(on, server, 6001, dhcp)
    assert dhcp.seen == seen and macs(on) == {MAC}
    (report,) = server.reports
    assert (report["address"], report["messages"]) == (str(LEASED), 2)


def test_waits_for_a_late_link() -> None:
    server = PingPongServer()
    run(board(phy_link_delay_us=3_000_000), server)
    (report,) = server.reports
    assert 3_000_000 < report["link_us"] < 3_010_000
    assert report["messages"] == 8


def test_retries_a_refused_connection() -> None:
    server, on = PingPongServer(), board()
    while len(list(asked_at_s(on))) < 3:
        on.run(0.01)
    run(on, server)
    (report,) = server.reports
    assert report["connect_attempts"] == 4
    assert 350_000 < report["ready_us"] < 400_000  # pauses of 50, 100 and 200 ms


def test_repeats() -> None:
    server = PingPongServer()
    run(board(dataclasses.replace(CONFIG, repeat=3, count=1)), server)
    assert [report["run"] for report in server.reports] == [1, 2, 3]
    assert server.clean_ends == 3


@pytest.mark.parametrize(
    ("does", "error", "connections"),
    [
        ("is wrong", "the answer is not the number sent plus one", 1),
        ("is silent", "no answer within message_timeout_ms", 1),
        ("closes", "the server closed the connection", 1),
        ("resets", "the server closed the connection", 2),
    ],
)
def test_tells_the_server_what_went_wrong(does: str, error: str, connections: int) -> None:
    server = PingPongServer({3: does})
    on = board(dataclasses.replace(CONFIG, message_timeout_ms=20))
    run(on, server)
    # The PC takes nothing on a connection that it has closed.
    (report,) = (json.loads(frame.data[54:]) for frame in on.frames if not frame.to_board and frame.data[54:55] == b"{")
    assert (report["error"], report["stage"]) == (error, "exchange")
    assert report["messages"] == len(report["round_trip_us"]) == 2
    assert len(server.lines) == connections


@pytest.mark.parametrize(
    ("settings", "config", "code"),
    [
        ({"kind": "RPI_PICO"}, CONFIG, 2),
        ({"phy_link_delay_us": 10**9}, CONFIG, 3),
        ({"dhcp": False}, NativeConfig(mac=MAC), 4),
        ({}, CONFIG, 5),
    ],
    ids=["w5500", "link", "address", "connect"],
)
def test_never_ready_ends_in_the_boot_loader_after_the_blink_code(
    settings: dict[str, Any], config: NativeConfig, code: int
) -> None:
    on = board(dataclasses.replace(config, ready_timeout_ms=1000, failure_wait_ms=4000), **settings)
    led = on.pin("GP25")
    run(on)
    assert on.time_us < 7_000_000
    _start_up, *flashes = [edge.time_us for edge in led.edges if edge.high]
    pauses = [later - earlier > 1_000_000 for earlier, later in pairwise(flashes)]
    assert pauses.index(True) == code - 1


def test_waits_after_success() -> None:
    server, on = PingPongServer(), board(dataclasses.replace(CONFIG, success_wait_ms=2500))
    run(on, server)
    assert 2_500_000 < on.time_us < 3_100_000 and len(server.reports) == 1


def crash(on: Board, instructions: bytes) -> None:
    """Replace the instructions that core 0 is at, and run until the watchdog has restarted the board."""
    before = resets(on)
    on.machine.write_sram(on.machine.registers()[0][PC_REGISTER], instructions)
    while resets(on) == before:
        on.run(0.001)


@pytest.mark.parametrize(
    ("instructions", "error"),
    [(b"\xfe\xe7" * 2, "the watchdog restarted the board"), (UNDEFINED, "hard fault")],
    ids=["watchdog", "fault"],
)
def test_reports_a_crash_of_the_run_before(instructions: bytes, error: str) -> None:
    server, on = PingPongServer({3: "is silent"}), board()
    on.machine.listen(5000, server)
    while len(server.values) < 3:
        on.run(0.0001)
    crash(on, instructions)
    run(on)
    (report,) = server.reports
    assert (report["error"], report["stage"], report["messages"]) == (error, "exchange", 0)
    assert server.values == [1, 3, 5, 1]  # the server takes a report after an answer only


def test_gives_up_when_the_crash_report_crashed() -> None:
    server, on = PingPongServer({1: "is silent", 2: "is silent"}), board()
    on.machine.listen(5000, server)
    for messages in (1, 2):
        while len(server.values) < messages:
            on.run(0.0001)
        crash(on, UNDEFINED)
    run(on)
    assert server.values == [1, 1] and server.reports == []


def test_restart_by_the_boot_loader_is_no_crash() -> None:
    """The boot ROM starts a fresh image with the watchdog, too, whose registers hold its own values then."""
    server, on = PingPongServer(), board()
    run(on, server)
    on.machine.volume_apply([("write", "again.uf2", NATIVE_IMAGE.read_bytes())])
    while len(server.reports) < 2:
        on.run(0.01)
    assert resets(on) >= 2 and not any("error" in report for report in server.reports)
