"""Two emulated boards on one switch, without an image: the native client on both, and the PC that they share."""

import shutil
import subprocess
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from portbench_engine import Machine, bootrom

from portbench.boards import BoardError, Deadline, board_definition
from portbench.boards.emulated import partner
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.partner import Partner
from portbench.boards.emulated.simulation import PS_PER_S, ps
from portbench.boards.jitter import Jitter, Surroundings
from portbench.firmware.native_config import CONFIG_ADDRESS, NativeConfig, pack
from portbench.firmware.uf2 import flash_content
from portbench.results.model import Row, Status
from portbench.runner.kinds import paired
from portbench.server.simulated_pc import SimulatedPc, part_in
from portbench.workloads import workload
from tests.measuring import measured
from tests.peers.two_boards import two_boards
from tests.ping_pong import EVB, NATIVE_IMAGE

_TWO_BOARDS = (workload("two_boards"),)
_FLASH = 0x1000_0000
_MESSAGES = 20
_PHY_US = 2000
_SLICE_US = 2000.0
_MOST_US = 500_000.0
_NEVER_US = 10**9
_STOPPED = "run: emulated WIZnet W5500-EVB-Pico: stopped:"
_NO_LINK = "no link for 8 s of simulated time: the cable is out, or the Ethernet chip is held in reset"


def native(**settings: Any) -> bytes:
    """A flash with the client, which plays with the PC."""
    image = flash_content(NATIVE_IMAGE)
    at = CONFIG_ADDRESS - _FLASH
    block = pack(NativeConfig(server=IPv4Address("192.168.50.1"), count=_MESSAGES, **settings))
    return image[:at].ljust(at, b"\xff") + block


def settings(**more: Any) -> dict[str, Any]:
    return EmulatedConfig(phy_link_delay_us=_PHY_US, **more).settings(EVB)


class Pair:
    """The second is powered up 1.234 ms after the first, whose LAN has the PC."""

    def __init__(self, capture: Path | None = None, *, partner_leads: bool = True) -> None:
        self.first = Machine(bootrom(), native(), settings(flash_id=1, capture=capture))
        self.pc = SimulatedPc(self.first, 5000, 200, part_in("ping_pong", {"messages": _MESSAGES}))
        self.first.run_until_ps(ps(1234))
        self.second = Machine(bootrom(), native(), settings(flash_id=2))
        self.since_ps = self.first.time_ps
        self.second.join(self.first)
        self._partner_leads = partner_leads

    def run(self, until_us: float = _MOST_US, slice_us: float = _SLICE_US) -> None:
        """Until both have reported, or can no more."""
        while self.pc.reports < 2 and self.second.time_us < until_us:
            goal = self.second.time_ps + ps(slice_us)
            self.second.run_beside(goal, self.first, self.since_ps, self._partner_leads)
            for machine in (self.first, self.second):
                machine.usb_events()
            self.pc.look(self.first.time_us)


def test_two_boards_with_one_image_play_with_one_pc() -> None:
    pair = Pair()
    pair.run()
    sessions = pair.pc.sessions()
    assert [session.exchanges for session in sessions] == [_MESSAGES] * 2
    addresses = [(session.report or {}).get("address") for session in sessions]
    assert addresses == [session.peer.partition(":")[0] for session in sessions]
    assert len(set(addresses)) == 2, "each has its own from DHCP, by its own MAC address"


def test_whoever_is_stepped_first_and_however_far_the_figures_are_the_same() -> None:
    seen = []
    for partner_leads, slice_us in ((True, _SLICE_US), (False, _SLICE_US), (True, 61.0)):
        pair = Pair(partner_leads=partner_leads)
        pair.first.log_frames(2000)
        pair.second.log_frames(2000)
        pair.run(slice_us=slice_us)
        seen.append((pair.pc.sessions(), pair.first.lan_frames(), pair.second.lan_frames()))
    assert [session.exchanges for session in seen[0][0]] == [_MESSAGES] * 2
    assert seen[1] == seen[0] and seen[2] == seen[0]


def test_one_capture_has_the_frames_of_both_boards(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark: apt-get install tshark")
    capture = tmp_path / "pair.pcap"
    pair = Pair(capture)
    pair.run()
    del pair.pc, pair.first  # ends the capture
    columns = ("frame.time_epoch", "eth.src", "tcp.analysis.flags")
    command = ["tshark", "-r", str(capture), "-T", "fields", *(word for name in columns for word in ("-e", name))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    frames = [line.split("\t") for line in lines]
    times = [float(time) for time, *_ in frames]
    assert times == sorted(times)
    assert len({source for _, source, _ in frames}) == 3, "two boards and the PC"
    assert not any(flags for *_, flags in frames), "nothing lost, repeated or out of order"


def test_a_board_whose_cable_is_pulled_does_not_stop_the_other() -> None:
    pair = Pair()
    pair.second.set_cable(False)
    pair.run(100_000.0)
    assert [session.exchanges for session in pair.pc.sessions()] == [_MESSAGES]
    assert pair.first.link_up and not pair.second.link_up


def test_a_board_is_not_its_own_partner() -> None:
    machine = Machine(bootrom(), b"", settings())
    with pytest.raises(ValueError, match="a board is not its own"):
        machine.join(machine)
    with pytest.raises(ValueError, match="a board is not its own"):
        machine.run_beside(1, machine, 0)


def test_a_board_without_a_network_joins_nothing() -> None:
    bare = Machine(bootrom(), b"", {"mcu": "RP2040", "devices": []})
    with pytest.raises(ValueError, match="this board has no network"):
        bare.join(Machine(bootrom(), b"", settings()))


def test_a_board_that_never_listens_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partner, "LISTENING_US", 50_000.0)
    config = EmulatedConfig(phy_link_delay_us=_PHY_US, dhcp=True)
    with pytest.raises(BoardError) as caught:
        Partner(EVB, config, native(), lambda line: None).listen()
    assert str(caught.value) == (
        "the board that is to serve: does not listen after 0.05 s of simulated time; it has said nothing"
    )


def told(line: str) -> Partner:
    """A partner that has said so, as good as dead."""
    blank = Partner(EVB, EmulatedConfig(), b"", lambda line: None)
    blank.console.feed(line.encode() + b"\n")
    return blank


def test_a_server_that_fails_ends_the_clients_run() -> None:
    failed = told('PORTBENCH {"error": "OSError(5)", "stage": "run"}')
    assert failed.is_over and failed.lost(0) == "the partner: failed in stage run: OSError(5)"
    assert told('PORTBENCH {"answered": 20}').lost(0) is None


def test_a_server_that_falls_silent_ends_the_clients_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partner, "_SILENT_US", 100.0)
    silent = told("nothing of interest")
    assert silent.lost(3) is None
    silent.machine.run_until_ps(ps(90))
    assert silent.lost(4) is None, "a frame has come"
    silent.machine.run_until_ps(ps(210))
    assert silent.lost(4) == "no frame has come from the partner for 0.0001 s of simulated time"
    silent.client_is_over()
    assert silent.lost(4) is None and not silent.is_over, "it still has the time to tell its result"


def row_with_cut(runtime: str, served_cut_us: int, cut_us: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    """Measure a row of 1000 messages; each board's cable is out from that time of the board on."""
    seen: list[int] = []

    def config(jitter: Jitter) -> dict[str, Any]:
        seen.append(jitter.seed)
        from_us = served_cut_us if jitter.seed == seen[0] else cut_us  # the one that serves is powered up first
        return {"phy_link_delay_us": _PHY_US, "seed": 1, "faults": {"down_us": [[from_us, 2 * _NEVER_US]]}}

    monkeypatch.setattr(Jitter, "config", config)
    of: dict[str, Any] = {"runtimes": (runtime,), "profiles": ("tuned",), "settings": {"messages": 1000}}
    (row,) = measured(folder, may_fail=True, workloads=_TWO_BOARDS, surroundings=Surroundings(seed=1), **of)
    return row


@pytest.mark.slow
def test_the_cable_of_the_board_that_serves_ends_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.boards.emulated.client_watch.NO_LINK_US", 1e6)
    row = row_with_cut("portbench-native", 140_000, _NEVER_US, tmp_path, monkeypatch)
    assert (row.status, row.reason) == (Status.FAILED, f"{_STOPPED} the partner: {_NO_LINK.replace('8', '1')}")


@pytest.mark.slow
def test_the_clients_cable_ends_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = row_with_cut("wiznet-hardwired", _NEVER_US, 1_200_000, tmp_path, monkeypatch)
    assert (row.status, row.reason) == (Status.FAILED, f"{_STOPPED} {_NO_LINK}")


@pytest.mark.slow
def test_two_boards_with_one_address_end_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_apart", lambda options: options)
    of: dict[str, Any] = {"runtimes": ("portbench-native",), "workloads": _TWO_BOARDS}
    (row,) = measured(tmp_path, may_fail=True, address_mode="static", **of)
    reason = f"{_STOPPED} address conflict: both boards say that they are 192.168.50.10; give each its own"
    assert (row.status, row.reason) == (Status.FAILED, reason)


def test_another_thread_asks_for_the_time_while_the_pair_runs() -> None:
    """It has the interpreter and waits for the board, whose thread waits for the interpreter."""
    board, deadline = board_definition("W5500_EVB_PICO"), Deadline(120.0, "boards")
    with two_boards(board, flash_content(NATIVE_IMAGE, board.flash_bytes)) as boards:
        while boards[1].time_ps < PS_PER_S // 50:
            deadline.check("20 ms of simulated time")
