"""Rows of unknown images, on the emulated board: the committed native client stands for them all."""

import re
import tempfile
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from portbench_engine import Machine, bootrom

from portbench.boards.board import Unattended
from portbench.boards.definition import MASK, PC_IP, board_address
from portbench.boards.emulated.client_watch import given_up, not_taken
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import SLICE_PS
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.native_config import CONFIG_ADDRESS, NativeConfig, StaticAddress, pack
from portbench.firmware.uf2 import flash_content
from portbench.results.model import Row, Status
from portbench.runner.program import image_store
from portbench.server.calls import Listening
from portbench.server.simulated_pc import SimulatedPc, part_in
from portbench.workloads import Conversation, Session, Workload, workload
from portbench.workloads.http.conversation import FOREIGN_PORT
from tests.boards.desk.forward.conftest import SERVER as UDP_SERVER
from tests.dead_images import HANDLER, PROGRAMS, DeadImage, build
from tests.engine.consoles import DEFINITION
from tests.measuring import outcomes
from tests.ping_pong import NATIVE_IMAGE

OWN_MESSAGES = 1000
"""Messages of the native client without settings."""


def measure(
    path: Path,
    folder: Path,
    messages: int = 50,
    runs: int = 1,
    family: Family | None = None,
    workloads: tuple[Workload, ...] = (),
    **around: Any,
) -> list[Row]:
    usual = {"settings": {} if workloads else {"messages": messages}, "runs": runs, "workloads": workloads}
    found = outcomes(folder, image_store(), runtimes=(str(path),), family=family, **(usual | around))
    return [outcome.row for outcome in found]


def test_any_image_that_plays_is_a_row(tmp_path: Path) -> None:
    first, second = measure(NATIVE_IMAGE, tmp_path, runs=2, family=Family.FOREIGN)
    assert first.status is Status.MEASURED, first.reason
    assert (first.timed_by, first.where, first.profile) == ("pc", "emulated", "as-built")
    assert len(first.samples["round_trip_us"]) == 49
    assert first.figures["total_us"] == sum(first.samples["round_trip_us"])
    # The client's own time of such a message is 218 us.
    assert 215 < min(first.samples["round_trip_us"]) <= max(first.samples["round_trip_us"]) < 221
    assert first.sim is not None and second.sim is not None
    assert second.simulated_figures() == first.simulated_figures() | {"run_index": 1}


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            DeadImage.STANDS_STILL,
            "no SPI frame for the W5500 in 10 s of simulated time: the image drives other pins or another chip",
        ),
        (DeadImage.LOCKS_UP, "stopped: core 0 locked up at pc 0x10000280"),
    ],
    ids=["stands still", "locks up"],
)
def test_an_image_that_never_connects_ends_its_row_early_with_the_cause(
    program: DeadImage, says: str, tmp_path: Path
) -> None:
    image = tmp_path / "dead.uf2"
    image.write_bytes(build(PROGRAMS[program], b"anybody's"))
    (row,) = measure(image, tmp_path)
    assert row.status is Status.FAILED and says in (row.reason or ""), row.reason


def test_a_fault_at_the_start_is_named_beside_what_did_not_come(tmp_path: Path) -> None:
    image = tmp_path / "faults.uf2"
    faults = uf2.parse(build(PROGRAMS[DeadImage.LOCKS_UP], b"anybody's"))
    image.write_bytes(uf2.with_data(faults, HANDLER, b"\xfe\xe7"))  # the handler: B .
    (row,) = measure(image, tmp_path)
    reason = row.reason or ""
    assert row.status is Status.FAILED and "no SPI frame for the W5500 in 10 s of simulated time" in reason, reason
    assert re.search(r"; before that, at 0\.\d{3} s: core 0 HardFault at pc", reason), reason


def test_a_client_that_plays_less_than_was_asked_for_is_told_so(tmp_path: Path) -> None:
    (row,) = measure(NATIVE_IMAGE, tmp_path, OWN_MESSAGES + 1, family=Family.FOREIGN)
    assert row.status is Status.FAILED
    assert f"closed after {OWN_MESSAGES} of {OWN_MESSAGES + 1} exchanges; ask for fewer" in (row.reason or "")


def test_an_image_that_never_serves_ends_its_row_early_with_the_cause(tmp_path: Path) -> None:
    image = tmp_path / "dead.uf2"
    image.write_bytes(build(PROGRAMS[DeadImage.STANDS_STILL], b"anybody's"))
    (row,) = measure(image, tmp_path, workloads=(workload("http"),))
    assert row.status is Status.FAILED and "no SPI frame for the W5500 in 10 s" in (row.reason or ""), row.reason


class Silent(Conversation):
    """The native client's own name is ignored."""

    def opened(self) -> bytes:
        return b""

    def receive(self, data: bytes) -> bytes:
        return b""

    def eof(self) -> None:
        return


@pytest.mark.parametrize(("at_once", "static"), [(1, False), (3, False), (1, True)])
def test_a_server_that_announces_nothing_is_found_and_measured(
    at_once: int, static: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our native server, made to listen on a foreign image's port; nothing of what it tells is used."""
    monkeypatch.setattr("portbench.server.simulated_polling.SETTLE_US", 100_000.0)
    http = workload("http")
    own = StaticAddress(board_address(), MASK, PC_IP) if static else None
    block = pack(NativeConfig(server=PC_IP, port=FOREIGN_PORT, count=1, static=own))
    image = uf2.read(http.folder / "native.uf2")
    with tempfile.NamedTemporaryFile(suffix=".uf2") as file:
        Path(file.name).write_bytes(uf2.with_data(image, CONFIG_ADDRESS, block.ljust(4096, b"\xff")))
        flash = flash_content(Path(file.name))
    settings = http.settings_type(requests=12, at_once=at_once)
    part = replace(part_in("http", settings.model_dump(mode="json"), 12), service=lambda: Silent)

    def run() -> list[Session]:
        machine = Machine(bootrom(), flash, EmulatedConfig(phy_link_delay_us=1000).settings(DEFINITION))
        pc = SimulatedPc(machine, FOREIGN_PORT, 200.0, part)
        pc.poll(machine, board_address(), machine.time_us)
        while not pc.whole and machine.time_us < 30e6:
            machine.run_until_ps(machine.time_ps + SLICE_PS)
            pc.look(machine.time_us)
        assert pc.whole and pc.polling is not None and pc.polling.taken
        return [each for each in pc.sessions() if each.peer.endswith(":80")]

    sessions = run()
    assert sessions == run()
    assert {each.peer for each in sessions} == {f"{board_address() if static else '192.168.50.100'}:80"}
    found = http.measure_calls(sessions, settings)
    assert (found.figures["completed"], found.figures["failed"], len(sessions)) == (12, 0, 12)
    if at_once == 1:
        # As the same client is measured where it tells all of itself: 1378 requests/s.
        assert 1300 < found.figures["completed"] * 1e6 / found.figures["duration_us"] < 1450


def session(**known: object) -> Session:
    plain: dict[str, object] = {"started_us": 1e6, "ended_us": None, "exchanges": 3, "received_bytes": 3, "error": None}
    return Session(number=0, peer="192.168.50.2:49152", **(plain | known))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now_us", "sessions", "link_up", "frames", "says"),
    [
        (29e6, [], False, 0, None),
        (30e6, [], False, 0, "no frame from the board in 30 s of simulated time: its link is not up"),
        (14.9e6, [], True, 0, None),
        (
            15e6,
            [],
            True,
            0,
            "no frame from the board in 15 s of simulated time: the image calls no PC; if it is an HTTP server, measure"
            " it with --workload http",
        ),
        (29e6, [], True, 7, None),
        (30e6, [], True, 7, "no connection to 192.168.50.1:5000 in 30 s of simulated time, only 7 frames for others"),
        (50e6, [session(last_byte_us=25e6)], True, 9, None),
        (
            50e6,
            [session(last_byte_us=20e6)],
            True,
            9,
            "192.168.50.2:49152 is silent in 30 s of simulated time after 3 of 8 exchanges",
        ),
        (
            31e6,
            [session(established_us=1e6, exchanges=0)],
            True,
            9,
            "192.168.50.2:49152 is silent in 30 s of simulated time after 0 of 8 exchanges",
        ),
        (
            2e6,
            [session(error="message 1 must be 1")],
            True,
            9,
            "192.168.50.2:49152: message 1 must be 1 (after 3 of 8 exchanges)",
        ),
        (
            2e6,
            [session(ended_us=2e6)],
            True,
            9,
            "192.168.50.2:49152 closed after 3 of 8 exchanges; ask for fewer, or"
            " let the client play until the PC closes",
        ),
    ],
)
def test_why_a_run_is_given_up(
    now_us: float, sessions: list[Session], link_up: bool, frames: int, says: str | None
) -> None:
    found = given_up(
        now_us, Unattended(8, 30.0), sessions, link_up=link_up, frames_from_board=frames, server=Listening(PC_IP, 5000)
    )
    assert found == says


@pytest.mark.parametrize(("pc", "told"), [("10.10.10.1", False), ("192.168.50.1", True)])
def test_a_board_in_another_network_is_given_up_early(pc: str, told: bool) -> None:
    found = given_up(
        15e6,
        Unattended(8, 30.0),
        [],
        link_up=True,
        frames_from_board=3,
        server=Listening(IPv4Address(pc), 5000),
        board=IPv4Address("10.10.10.10"),
    )
    says = "the board is 10.10.10.10, in another network than the PC at 192.168.50.1; give it -s pc_address=ADDRESS"
    assert found == (says if told else None)


def test_an_image_of_another_network_is_a_row(tmp_path: Path) -> None:
    """Our native client, with another PC and address written into it."""
    pc, own = IPv4Address("10.1.2.1"), IPv4Address("10.1.2.77")
    block = NativeConfig(server=pc, port=8080, count=OWN_MESSAGES, static=StaticAddress(own, MASK, pc))
    image = tmp_path / "elsewhere.uf2"
    image.write_bytes(uf2.with_data(uf2.read(NATIVE_IMAGE), CONFIG_ADDRESS, pack(block).ljust(4096, b"\xff")))
    (row,) = measure(image, tmp_path, family=Family.FOREIGN, pc_address=pc, server_port=8080)
    assert row.status is Status.MEASURED, row.reason
    assert len(row.samples["round_trip_us"]) == 49


def test_a_udp_service_is_a_row_timed_by_the_pc(tmp_path: Path) -> None:
    """The image's echo."""
    service = workload("udp_service")
    first, second = measure(UDP_SERVER, tmp_path, 2, 2, Family.FOREIGN, (service,), settings={"requests": 20})
    assert first.status is Status.MEASURED, first.reason
    assert len(first.samples["round_trip_us"]) == 19 and first.timed_by == "pc"
    assert first.figures["sent_again"] == 0 and min(first.samples["round_trip_us"]) > 200, "the PC's turnaround"
    assert second.simulated_figures() == first.simulated_figures() | {"run_index": 1}


class Called:
    """The observed part of a `SimulatedPolling`."""

    def __init__(self, called: bool, refusals: int, taken: bool, has_address: bool = True) -> None:
        self.board = Listening(board_address(), 80) if called else None
        self.refusals, self.taken, self.has_address = refusals, taken, has_address


@pytest.mark.parametrize(
    ("now_us", "polling", "link_up", "frames", "says"),
    [
        (29e6, Called(False, 0, False), False, 0, None),
        (30e6, Called(True, 0, True), True, 9, None),
        (30e6, Called(False, 0, False), False, 0, "no frame from the board in {}: its link is not up"),
        (30e6, Called(False, 0, False), True, 0, "no frame from the board in {}"),
        (30e6, Called(False, 0, False), True, 4, "no address in the 4 frames of the board in {}"),
        (
            30e6,
            Called(True, 0, False, has_address=False),
            True,
            0,
            "no board at 192.168.50.10 in {}, and none that asked for an address by DHCP",
        ),
        (30e6, Called(True, 7, False), True, 9, "nothing listens at 192.168.50.10:80 in {}: refused 7 times"),
        (30e6, Called(True, 0, False), True, 9, "no answer from 192.168.50.10:80 in {}"),
    ],
)
def test_why_a_server_that_was_not_found_is_given_up(
    now_us: float, polling: Called, link_up: bool, frames: int, says: str | None
) -> None:
    found = not_taken(now_us, Unattended(8, 30.0), polling, link_up=link_up, frames_from_board=frames)  # type: ignore[arg-type]
    assert found == (None if says is None else says.format("30 s of simulated time"))
