"""The built image, run from reset: what it does on the wire and how it ends. Two runs are on `rp2040py`, too."""

from __future__ import annotations

import dataclasses
from ipaddress import IPv4Address
from itertools import pairwise

import pytest

from portbench.firmware.native_config import NativeConfig, StaticAddress, pack
from tests.firmware.native import on_rp2040py
from tests.firmware.native.emulated import PingPongServer
from tests.firmware.native.on_engine import run
from tests.firmware.native.w5500_double import DhcpServer

pytestmark = pytest.mark.slow

MAC = bytes.fromhex("025042000007")
STATIC = StaticAddress(IPv4Address("10.1.2.3"), IPv4Address("255.255.255.0"), IPv4Address("10.1.2.1"))
CONFIG = NativeConfig(count=8, mac=MAC, static=STATIC)
RUNNING, FAULT = 0x50425255, 0x50424846

REPORT_KEYS = {
    "messages", "total_us", "ready_us", "link_us", "connect_attempts", "spi_hz_asked", "spi_hz_actual", "intn",
    "address", "address_mode", "runtime", "version", "machine", "clk_sys_hz", "run", "round_trip_us",
}  # fmt: skip


@pytest.mark.parametrize("split", [False, True], ids=["whole", "split"])
@pytest.mark.parametrize("intn", [True, False], ids=["intn", "poll"])
def test_measures_and_reports(intn: bool, split: bool) -> None:
    config = dataclasses.replace(CONFIG, count=60, intn=intn)
    outcome = run(PingPongServer(split=split), config)
    assert outcome.server.values == list(range(1, 120, 2))
    (report,) = outcome.server.reports
    assert set(report) == REPORT_KEYS
    assert report["messages"] == len(report["round_trip_us"]) == 60
    assert sum(report["round_trip_us"]) <= report["total_us"] < sum(report["round_trip_us"]) + 60 * 5
    assert all(50 <= us <= 75 + 200 * split for us in report["round_trip_us"])
    assert (report["intn"], report["address"], report["address_mode"]) == (intn, "10.1.2.3", "static")
    assert (report["spi_hz_asked"], report["spi_hz_actual"]) == (33_300_000, 33_250_000)
    assert (report["runtime"], report["run"], report["connect_attempts"]) == ("portbench-native", 1, 1)
    assert 2000 < report["link_us"] < report["ready_us"] < outcome.simulated_us
    assert outcome.server.connections == [("10.1.2.1", 5000)]
    assert outcome.server.clean_ends == 1
    assert outcome.in_boot_loader


def test_critical_path_is_four_frames() -> None:
    """Between an answer and the next message the bus carries Sn_RX_RSR, the answer, Sn_TX_WR and Sn_CR only."""
    outcome = run(PingPongServer(), CONFIG)
    frames = outcome.chip.frames
    sends = [
        i
        for i, (block, address, write, data) in enumerate(frames)
        if (block, address, write, data) == (1, 1, True, b"\x20")
    ]
    reads = [i for i, (block, _, write, _) in enumerate(frames) if block == 3 and not write]
    for message in range(7):
        answer, send = reads[message], sends[message + 1]
        assert [(block, address) for block, address, _, _ in frames[answer - 1 : send + 1]] == [
            (1, 0x26), (3, frames[answer][1]), (1, 0x24), (1, 0x01),
        ]  # fmt: skip


def test_defaults_without_configuration() -> None:
    """Erased flash: DHCP, the DHCP server is the server, 1000 messages, a locally administered MAC."""
    outcome = run(PingPongServer(), None, dhcp=DhcpServer())
    (report,) = outcome.server.reports
    assert report["messages"] == 1000
    assert (report["address"], report["address_mode"]) == ("192.168.1.50", "dhcp")
    assert outcome.server.connections == [("192.168.1.2", 5000)]
    assert bytes(outcome.chip.common[9:15])[:3] == b"\x02PB"


def test_damaged_configuration_gives_the_defaults() -> None:
    block = bytearray(pack(dataclasses.replace(CONFIG, port=6000)))
    block[12] ^= 1
    outcome = run(PingPongServer(), bytes(block), dhcp=DhcpServer())
    assert outcome.server.connections == [("192.168.1.2", 5000)]


@pytest.mark.parametrize(
    ("drop", "nak", "seen"),
    [(0, 0, [1, 3]), (2, 0, [1, 1, 1, 3]), (0, 2, [1, 3, 1, 3, 1, 3])],
)
def test_dhcp_retransmits_and_starts_again(drop: int, nak: int, seen: list[int]) -> None:
    config = NativeConfig(count=2, mac=MAC, server=IPv4Address("192.168.1.9"), port=6001)
    outcome = run(PingPongServer(), config, dhcp=DhcpServer(drop=drop, nak=nak))
    assert outcome.chip.dhcp is not None
    assert outcome.chip.dhcp.seen == seen
    assert bytes(outcome.chip.common[9:15]) == MAC
    assert bytes(outcome.chip.common[15:19]) == bytes([192, 168, 1, 50])
    assert outcome.server.connections == [("192.168.1.9", 6001)]
    assert outcome.server.reports[0]["messages"] == 2


def test_waits_for_a_late_link() -> None:
    (report,) = run(PingPongServer(), CONFIG, link_after_us=3_000_000).server.reports
    assert 3_000_000 < report["link_us"] < 3_010_000
    assert report["messages"] == 8


def test_retries_a_refused_connection() -> None:
    (report,) = run(PingPongServer(refuse=3), CONFIG).server.reports
    assert report["connect_attempts"] == 4
    assert 350_000 < report["ready_us"] < 400_000  # pauses of 50, 100 and 200 ms


def test_repeats() -> None:
    outcome = run(PingPongServer(), dataclasses.replace(CONFIG, repeat=3, count=1))
    assert [report["run"] for report in outcome.server.reports] == [1, 2, 3]
    assert outcome.server.clean_ends == 3


@pytest.mark.parametrize(
    ("server", "error", "connections"),
    [
        (PingPongServer(wrong_at=3), "the answer is not the number sent plus one", 1),
        (PingPongServer(silent_at=3), "no answer within message_timeout_ms", 1),
        (PingPongServer(close_at=3), "the server closed the connection", 1),
        (PingPongServer(reset_at=3), "the server closed the connection", 2),
    ],
    ids=["wrong", "silent", "closed", "reset"],
)
def test_tells_the_server_what_went_wrong(server: PingPongServer, error: str, connections: int) -> None:
    outcome = run(server, dataclasses.replace(CONFIG, message_timeout_ms=20))
    (report,) = outcome.server.reports
    assert (report["error"], report["stage"]) == (error, "exchange")
    assert report["messages"] == len(report["round_trip_us"]) == 2
    assert len(outcome.server.connections) == connections
    assert outcome.in_boot_loader


@pytest.mark.parametrize(
    ("arguments", "config", "code"),
    [
        ({"present": False}, CONFIG, 2),
        ({"link_after_us": 1e12}, CONFIG, 3),
        ({"dhcp": DhcpServer(drop=1000)}, NativeConfig(mac=MAC), 4),
        ({}, CONFIG, 5),
    ],
    ids=["w5500", "link", "address", "connect"],
)
def test_never_ready_ends_in_the_boot_loader_after_the_blink_code(
    arguments: dict[str, object], config: NativeConfig, code: int
) -> None:
    config = dataclasses.replace(config, ready_timeout_ms=1000, failure_wait_ms=4000)
    outcome = run(PingPongServer(refuse=1000), config, blinks=True, **arguments)  # type: ignore[arg-type]
    assert outcome.in_boot_loader
    assert outcome.server.connections == []
    assert outcome.simulated_us < 7_000_000
    _start_up, *flashes = outcome.led_on_us
    pauses = [later - earlier > 1_000_000 for earlier, later in pairwise(flashes)]
    assert pauses.index(True) == code - 1


def test_waits_after_success() -> None:
    outcome = run(PingPongServer(), dataclasses.replace(CONFIG, success_wait_ms=2500))
    assert 2_500_000 < outcome.simulated_us < 2_700_000


@pytest.mark.parametrize(
    ("magic", "error"),
    [(RUNNING, "the watchdog restarted the board"), (FAULT, "hard fault")],
    ids=["watchdog", "fault"],
)
def test_reports_a_crash_of_the_run_before(magic: int, error: str) -> None:
    outcome = on_rp2040py.run(PingPongServer(), CONFIG, scratch={0: magic, 1: 6, 2: 0})
    (report,) = outcome.server.reports
    assert (report["error"], report["stage"], report["messages"]) == (error, "exchange", 0)
    assert outcome.server.values == [1]  # the server takes a report after an answer only
    assert outcome.in_boot_loader


def test_gives_up_when_the_crash_report_crashed() -> None:
    outcome = on_rp2040py.run(PingPongServer(), CONFIG, scratch={0: RUNNING, 1: 6, 2: 1})
    assert outcome.chip.frames == []
    assert outcome.in_boot_loader


def test_restart_by_the_boot_loader_is_no_crash() -> None:
    """The bootrom starts a freshly flashed image with the watchdog, too; the scratch registers hold its own values."""
    outcome = on_rp2040py.run(PingPongServer(), CONFIG, scratch={0: 1 << 25, 1: 0})
    assert "error" not in outcome.server.reports[0]


def test_another_emulator_sees_the_same() -> None:
    ours, theirs = (run_on(PingPongServer(), CONFIG) for run_on in (run, on_rp2040py.run))
    # Time, which `rp2040py` models roughly, is in the count of polls, in the source port and in the report.
    polled = {(0, 0x2E), (1, 0x01), (1, 0x03), (1, 0x26)}
    seen = [
        [(block, address, write) for block, address, write, _ in outcome.chip.frames if (block, address) not in polled]
        for outcome in (ours, theirs)
    ]
    assert seen[0] == seen[1]
    assert ours.server.values == theirs.server.values
