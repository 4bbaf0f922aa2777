"""Foreign images: nothing is written into them, the PC alone times them, and the row says so. No image is needed."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from portbench.boards import Deadline, Deployment, Progress, RunOutput, Unattended
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Uf2File
from portbench.results.model import Conditions, Status
from portbench.runner.bench import Bench
from portbench.runner.kinds.foreign import meeting_places
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.stages import DEFAULT_S, Stage
from portbench.where import Where
from portbench.workloads import Session, workload
from tests.runner.test_bench import ScriptedBoard, World
from tests.runner.test_bench import world as world
from tests.server.test_tcp import play


def session(*received_us: float, error: str | None = None, arrivals: int | None = None) -> Session:
    count = len(received_us)
    return Session(
        0, "192.168.50.2:49152", 5.0, 99.0, count, 4, error, None, list(received_us), arrivals=arrivals or count
    )


class ForeignBoard(ScriptedBoard):
    """`sessions`: what its PC has seen."""

    def __init__(self, *sessions: Session) -> None:
        super().__init__()
        self.sessions = list(sessions)
        self.asked: list[str] = []
        self.alone: Unattended | None = None

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        self.asked.append("serve")
        self.alone = alone

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        super().flash(image, deadline)
        self.asked.append("flash")

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        self.asked.append("run")
        return RunOutput(None, [], self.sessions)


def test_a_foreign_row_is_timed_by_the_pc_and_says_so(world: World) -> None:
    board = ForeignBoard(session(error="closed without a message"), session(1000.0, 1250.0, 1600.0))
    world.boards = [board]
    row = world.measure(world.planned(Family.FOREIGN)).row
    assert row.status is Status.MEASURED, row.reason
    assert (row.timed_by, row.family) == ("pc", "foreign")
    assert row.figures == {"total_us": 250, "messages_per_s": 4000} and row.samples == {"round_trip_us": [250]}
    assert row.conditions == Conditions(turnaround_us=200)
    # The image goes there as it is, and all is in place before it starts.
    assert board.flashed == world.image.read_bytes() and board.deployed == Deployment({}, "foreign")
    assert board.asked == ["serve", "flash", "run"] and board.alone == Unattended(2, DEFAULT_S[Stage.READY])


@pytest.mark.parametrize(
    ("sessions", "says"),
    [
        ([], "run: the image has not connected to the PC"),
        (
            [session(1000.0)],
            "run: 192.168.50.2:49152 closed after 1 of 2 exchanges; ask for fewer, or let the client play until the PC"
            " closes",
        ),
        ([session(1000.0, error="no")], "run: 192.168.50.2:49152: no (after 1 of 2 exchanges)"),
        (
            [session(1000.0, 1000.0, arrivals=1)],
            "run: the client sent 1 messages without waiting for the answer before",
        ),
    ],
)
def test_what_is_no_run_fails_the_row(sessions: list[Session], says: str, world: World) -> None:
    world.boards = [ForeignBoard(*sessions)]
    row = world.measure(world.planned(Family.FOREIGN)).row
    assert (row.status, row.reason, row.timed_by) == (Status.FAILED, says, "pc")


def page(number: int) -> Session:
    began_us = 1000.0 + 5000.0 * number
    return Session(
        number,
        "192.168.50.100:80",
        began_us,
        began_us + 4000.0,
        1,
        200,
        None,
        received_us=[began_us + 4000.0],
        established_us=began_us + 1000.0,
        asked_us=began_us + 1200.0,
        first_byte_us=began_us + 3000.0,
    )


def test_an_image_that_serves_is_timed_by_the_pcs_connections(world: World) -> None:
    world.boards = [ForeignBoard(*map(page, range(5)))]
    row = world.measure(world.planned(Family.FOREIGN, workload=workload("http"))).row
    assert row.status is Status.MEASURED, row.reason
    assert (row.timed_by, row.workload, row.figures["completed"]) == ("pc", "http", 5)
    assert row.figures["duration_us"] == 24_000 and row.samples["total_us"] == [4000] * 5


def test_an_image_that_serves_and_was_not_called_to_the_end_fails_the_row(world: World) -> None:
    world.boards = [ForeignBoard(*map(page, range(4)))]
    row = world.measure(world.planned(Family.FOREIGN, workload=workload("http"))).row
    assert (row.status, row.reason) == (Status.FAILED, "run: the PC opened 4 connections to the board, not 5")


class RealBoard(ScriptedBoard):
    """On this PC's network: its image starts to play as soon as it is programmed."""

    where: Where = Where.SILICON
    own_network = None  # type: ignore[assignment]

    def __init__(self, client: Callable[[], None]) -> None:
        super().__init__()
        self.client = threading.Thread(target=client)

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        self.client.start()

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        return RunOutput(None, [])

    def close(self) -> None:
        super().close()
        if self.client.ident is not None:
            self.client.join()


@pytest.fixture
def real(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[World, PlannedRow]]:
    """A world whose server is on the loopback and takes a free port, and a row of three messages."""
    monkeypatch.setattr("portbench.runner.bench.where_for", lambda planned: Where.SILICON)
    world.options = world.options.but(server_host="127.0.0.1", server_port=0)
    world.bench.close()
    world.bench = Bench(world.options, world.bench._store, world.folder / "results")
    planned = world.planned(Family.FOREIGN)
    yield world, replace(planned, settings=planned.settings.model_copy(update={"messages": 3}))


@pytest.mark.parametrize("ends", ["closes", "stops", "plays on"])
def test_a_real_board_is_timed_on_real_sockets_however_its_client_ends(
    ends: str, real: tuple[World, PlannedRow]
) -> None:
    world, planned = real
    over = threading.Event()

    def client() -> None:
        server = world.bench.servers.at("127.0.0.1", planned.workload, 0)
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            play(connection, 4 if ends == "plays on" else 3)
            if ends != "closes":
                assert connection.recv(1) == b""  # the PC closes
        over.set()

    world.boards = [RealBoard(client)]
    row = world.measure(planned).row
    assert row.status is Status.MEASURED, row.reason
    assert (row.where, row.timed_by, len(row.samples["round_trip_us"])) == (Where.SILICON, "pc", 2)
    assert row.figures["total_us"] == pytest.approx(sum(row.samples["round_trip_us"]))
    assert row.conditions.turnaround_us is not None and row.conditions.address_mode is None
    world.bench.close()
    assert over.is_set()


def test_a_real_board_that_never_connects_ends_its_row_with_the_address(real: tuple[World, PlannedRow]) -> None:
    world, planned = real
    planned = replace(planned, how=replace(planned.how, timeouts_s=DEFAULT_S | {Stage.READY: 0.001}))
    world.boards = [RealBoard(lambda: None)]
    row = world.measure(planned).row
    assert row.status is Status.FAILED
    assert "the image to connect to 127.0.0.1:" in (row.reason or "")


def test_where_a_real_board_serves_nobody_tells_the_pc(real: tuple[World, PlannedRow]) -> None:
    world, _ = real
    board = RealBoard(lambda: None)
    world.boards = [board]
    row = world.measure(world.planned(Family.FOREIGN, workload=workload("http"))).row
    assert row.status is Status.FAILED and board.client.ident is None
    assert (row.reason or "").endswith(
        "the PC does not know the address of a real board with a foreign image; look it up at your router, and measure"
        " with a load generator such as ab"
    )


def test_boards_that_share_a_server_cannot_be_told_apart(real: tuple[World, PlannedRow]) -> None:
    world, planned = real
    world.bench.servers.parallel = 2
    world.boards = [RealBoard(lambda: None)]
    assert "does not report which board it is; measure without --parallel" in (world.measure(planned).row.reason or "")


def test_the_meeting_places_are_told() -> None:
    options = BenchOptions().but(server_host="10.1.2.3", server_port=5001)
    emulated, real = meeting_places(options)
    assert emulated == (
        "emulated boards: TCP to 192.168.50.1:5001, own address by DHCP or 192.168.50.10, mask 255.255.255.0,"
        " gateway 192.168.50.1; another network: -s pc_address=10.0.0.1"
    )
    assert real == "real boards: TCP to 10.1.2.3:5001, own address as the network there has it"
    assert meeting_places(options.but(where="emulated")) == [emulated]
    assert meeting_places(options.but(where="silicon")) == [real]
    options = options.but(workloads=(workload("http"),))
    called = (
        "emulated boards, http: the PC calls TCP port 80 of the address that it gave by DHCP, or of 192.168.50.10, mask"
        " 255.255.255.0"
    )
    assert meeting_places(options) == [called]
    assert meeting_places(options.but(where="silicon")) == []
    assert meeting_places(options.but(workloads=(workload("http"), workload("ping_pong")))) == [
        called,
        emulated,
        real,
    ]
    options = options.but(workloads=(workload("http"), workload("ping_pong")), workloads_by_name=False)
    assert meeting_places(options) == [emulated, real]
