"""Bench: rows are stored at once and a bad board does not spoil the next row. Boards are the test's own."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import (
    Board,
    BoardUnavailable,
    Deadline,
    Deployment,
    OwnNetwork,
    Progress,
    RunOutput,
    RuntimeIdentity,
    board_definition,
)
from portbench.errors import BoardError
from portbench.firmware import identify as identifying
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family, FirmwareEntry, Profile
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import ImageStore
from portbench.results.model import Conditions, Headline, Status
from portbench.runner import bench as bench_module
from portbench.runner.bench import Bench
from portbench.runner.jobs.measure import _measure_here
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.where import Where
from portbench.workloads import WORKLOADS_VARIABLE, Workload, workload
from tests.ping_pong import EVB, PING_PONG, settings
from tests.workloads.own import FOLDER

LAN = OwnNetwork(
    IPv4Address("192.168.50.1"),
    5000,
    tuple(IPv4Address(f"192.168.50.{n}") for n in (9, 0, 1, 1)),  # type: ignore[arg-type]
)
RESULT = {"messages": 2, "total_us": 2100, "round_trip_us": [1000, 1050], "ready_us": 7, "spi_hz_actual": 12_000_000}


@dataclass
class Reported:
    report: dict[str, Any] | None
    listening: str | None = None


class ScriptedBoard(Board):
    """Does what the test says at each stage."""

    where: Where = Where.EMULATED
    name = "scripted"
    own_network = LAN

    def __init__(self, script: Callable[[str], Any] = lambda stage: None) -> None:
        self.definition = board_definition("W5500_EVB_PICO")
        self.script = script
        self.deployed: Deployment | None = None
        self.flashed: bytes = b""
        self.served: list[str] = []
        self.closed = 0

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        self.script("flash")
        self.flashed = image.data

    def wait_console(self, deadline: Deadline) -> None:
        self.script("console")

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        return self.script("identify") or RuntimeIdentity("micropython", "1.26.0", "", "")

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        self.script("deploy")
        self.deployed = deployment

    def serve(self, workload: str, settings: Mapping[str, Any], deadline: Deadline) -> None:
        self.served.append(workload)

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if progress:
            progress("hello from the board")
        return self.script("run") or RunOutput(
            dict(RESULT), ["hello"], [], {"host_s": 0.5, "counters": {"spi_bytes": 9}}
        )

    def reset(self, deadline: Deadline) -> None:
        self.script("reset")

    def console_tail(self, n: int = 20) -> list[str]:
        return ["Traceback", "boom"]

    def close(self) -> None:
        self.closed += 1


class World:
    """A bench whose boards come from `boards`, one for each opening."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.boards: list[Board | Exception] = []
        self.opened: list[Board] = []
        self.folder = folder
        self.options = BenchOptions().but(where="emulated", results_dir=folder / "results")
        monkeypatch.setattr(bench_module, "open_board", self._open)
        self.image = folder / "image.uf2"
        self.image.write_bytes(uf2.build(b"MicroPython v1.26.0 on 2025-08-09; W5500-EVB-Pico with RP2040".ljust(256)))
        self.bench = Bench(self.options, ImageStore(), folder / "results")
        self.stages: list[str] = []

    def _open(self, *arguments: Any) -> Board:
        board = self.boards.pop(0)
        if isinstance(board, Exception):
            raise board
        self.opened.append(board)
        return board

    def planned(
        self,
        family: Family = Family.MICROPYTHON,
        profile: Profile = Profile("tuned"),  # noqa: B008  frozen
        workload: Workload = PING_PONG,
        path: Path | None = None,
    ) -> PlannedRow:
        entry = FirmwareEntry(
            id="tried-1", family=family, board="W5500_EVB_PICO", profiles=(profile,), path=path or self.image
        )
        chosen = settings(2) if workload is PING_PONG else workload.quick()
        return PlannedRow(entry, profile, workload, chosen, EVB, place=self.options.place, how=self.options.how)

    def measure(self, planned: PlannedRow | None = None) -> bench_module.Outcome:
        return self.bench.measure(planned or self.planned(), self.stages.append)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World(tmp_path, monkeypatch)
    yield world
    world.bench.close()


def raises(stage: str, error: Exception) -> Callable[[str], Any]:
    def script(now: str) -> None:
        if now == stage:
            raise error

    return script


def test_a_measured_row_has_everything(world: World) -> None:
    world.boards = [ScriptedBoard()]
    row = world.measure().row
    assert row.status is Status.MEASURED and row.version == "1.26.0" and row.where == "emulated"
    assert row.workload == "ping_pong" and row.settings == {"messages": 2}
    assert row.headline == Headline(name="messages_per_s", unit="messages/s", better="higher")
    assert row.figures == {"total_us": 2100, "messages_per_s": pytest.approx(2e6 / 2100), "ready_us": 7}
    assert row.samples == {"round_trip_us": [1000, 1050]} and row.value == row.figures["messages_per_s"]
    assert row.conditions.spi_hz_asked == 20_000_000 and row.conditions.spi_hz_actual == 12_000_000
    assert row.conditions.turnaround_us == 200 and row.conditions.address_mode == "dhcp"
    assert row.sim is not None and row.sim.counters == {"spi_bytes": 9}
    assert row.image_sha256 and row.image_file == "image.uf2"
    assert row.build == f"{world.folder.name}/image.uf2" and row.run_index == 0
    assert world.opened[0].served == ["ping_pong"]  # type: ignore[attr-defined]


def test_the_log_has_stages_and_console(world: World) -> None:
    world.boards = [ScriptedBoard()]
    outcome = world.measure()
    log = outcome.log.read_text()
    assert "# flash" in log and "hello from the board" in log and "# measured" in log
    assert (world.options.output.results_dir / outcome.row.log).samefile(outcome.log)


@pytest.mark.parametrize("stage", ["flash", "console", "identify", "deploy", "run"])
def test_a_failed_stage_is_named_and_the_next_row_gets_a_fresh_board(stage: str, world: World) -> None:
    bad, good = ScriptedBoard(raises(stage, BoardError("the volume\nis full"))), ScriptedBoard()
    world.boards = [bad, good]
    outcome = world.measure()
    assert outcome.row.status is Status.FAILED and outcome.row.reason == f"{stage}: the volume is full"
    assert outcome.row.console_tail == ["Traceback", "boom"]
    assert bad.closed == 1
    assert world.measure().row.status is Status.MEASURED


def test_a_good_board_is_kept_for_the_next_row(world: World) -> None:
    board = ScriptedBoard()
    world.boards = [board]
    world.measure()
    world.measure()
    assert world.opened == [board] and board.closed == 0
    world.bench.close()
    world.bench.close()
    assert board.closed == 1


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            RunOutput({"error": "OSError(13)", "stage": "connect"}, []),
            "run: the client failed in stage connect: OSError(13)",
        ),
        (RunOutput(None, []), "run: no result line came"),
        (RunOutput(RESULT | {"messages": 1}, []), "run: the client measured 1 messages, not 2"),
    ],
)
def test_what_the_client_says_can_fail_a_row(output: RunOutput, says: str, world: World) -> None:
    world.boards = [ScriptedBoard(lambda stage: output if stage == "run" else None)]
    assert world.measure().row.reason == says


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        ("OSError('unsupported: no ssl')", Status.UNSUPPORTED, "no ssl"),
        ("""OSError("unsupported: no 'x': OSError(22)")""", Status.UNSUPPORTED, "no 'x': OSError(22)"),
        ("OSError('unsupported: no ssl',)", Status.UNSUPPORTED, "no ssl"),
        (
            "ValueError('x unsupported: y')",
            Status.FAILED,
            "run: the client failed in stage ssl: ValueError('x unsupported: y')",
        ),
    ],
)
def test_a_client_says_that_its_port_lacks_something(error: str, status: Status, reason: str, world: World) -> None:
    said = RunOutput({"error": error, "stage": "ssl"}, [])
    world.boards = [ScriptedBoard(lambda stage: said if stage == "run" else None)]
    row = world.measure().row
    assert (row.status, row.reason) == (status, reason)


ENDED = [
    "Traceback (most recent call last):",
    '  File "main.py", line 8, in <module>',
    "ImportError: no module named 'asyncio'",
]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (
            [*ENDED, "MicroPython v1.20.0 on 2023-04-26; Raspberry Pi Pico W with RP2040"],
            f"the client ended with {ENDED[2]}",
        ),
        ([*ENDED[:2], "OSError: 5", *ENDED, "", "Code done running."], f"the client ended with {ENDED[2]}"),
        (ENDED[:2], "no link for 9.5 s"),
        (["ready"], "no link for 9.5 s"),
    ],
)
def test_a_client_without_a_result_ended_with_the_exception_that_it_printed(
    tail: list[str], reason: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScriptedBoard, "console_tail", lambda self, n=20: tail)
    world.boards = [ScriptedBoard(raises("run", BoardError("no link for 9.5 s")))]
    row = world.measure().row
    assert (row.status, row.reason, row.console_tail) == (Status.FAILED, f"run: {reason}", tail)
    world.boards = [ScriptedBoard(lambda stage: RunOutput({}, []) if stage == "run" else None)]
    assert world.measure().row.reason == f"run: {reason}".replace("no link for 9.5 s", "no result line came")


def test_a_library_that_is_not_pinned_for_the_image_leaves_its_row_unsupported(world: World) -> None:
    world.image.write_bytes(uf2.build(b"CircuitPython 8.0.5 on 2023-03-31; W5500-EVB-Pico with rp2040".ljust(256)))
    world.boards = [ScriptedBoard()]
    row = world.measure(world.planned(Family.CIRCUITPYTHON, workload=workload("websocket_server"))).row
    reason = "CircuitPython 8: circuitpython_libraries.toml pins adafruit-circuitpython-httpserver for 9, 10 only"
    assert (row.status, row.reason) == (Status.UNSUPPORTED, f"{reason}; add 8 to it")


def test_a_row_without_a_library_that_cannot_be_downloaded_is_skipped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in (("PORTBENCH_OFFLINE", "1"), ("PORTBENCH_FIRMWARE_DIR", str(world.folder))):
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("portbench.clients.libraries.user_cache_path", lambda name: world.folder / name)
    bad, good = ScriptedBoard(), ScriptedBoard()
    world.boards = [bad, good]
    row = world.measure(world.planned(workload=workload("mqtt"))).row
    assert row.status is Status.SKIPPED and row.image_url is None
    assert row.reason is not None and row.reason.startswith("umqtt/simple.py is not at hand, and PORTBENCH_OFFLINE")
    assert bad.closed == 1 and world.measure().row.status is Status.MEASURED


@pytest.mark.parametrize("where", ["auto", "emulated", "silicon"])
def test_no_board_fails_the_row(where: Any, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.options = world.options.but(where=where)
    world.boards = [BoardUnavailable("W5100S_EVB_PICO: has a W5100S, which is not emulated")]
    monkeypatch.setattr(bench_module, "where_for", lambda *_: Where.SILICON if where == "silicon" else Where.EMULATED)
    outcome = world.measure()
    assert outcome.row.status is Status.FAILED
    assert outcome.row.reason == "W5100S_EVB_PICO: has a W5100S, which is not emulated"
    assert (outcome.fault is not None) == (where == "silicon"), "only real boards were asked for"


def test_a_board_that_is_not_plugged_in_is_told_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_module, "where_for", lambda *_: Where.SILICON)
    world.options = world.options.but(where="silicon")
    other = ScriptedBoard()
    world.boards = [BoardUnavailable("W5500-EVB-Pico: no board on USB"), other]
    here = world.planned()
    elsewhere = replace(here, board=board_definition("W5100S_EVB_PICO"))
    rows, measured = [here, here, elsewhere, here], []
    with pytest.raises(BoardUnavailable, match="no board on USB"):
        for row, ended in _measure_here(world.bench, rows, lambda row, what: None):
            measured.append((row.board.id, ended.status))
    assert measured == [("W5500_EVB_PICO", Status.FAILED), ("W5100S_EVB_PICO", Status.MEASURED)]


def test_a_hosted_port_that_is_not_installed_skips_the_row(world: World) -> None:
    world.boards = [BoardUnavailable("hosted MicroPython: not installed")]
    hosted = Profile("hosted")
    entry = FirmwareEntry(id="unix", family=Family.HOSTED, board="host", package="pooch", profiles=(hosted,))
    row = world.measure(PlannedRow(entry, hosted, PING_PONG, settings(2), EVB)).row
    assert (row.status, row.reason) == (Status.SKIPPED, "hosted MicroPython: not installed")


def test_a_board_that_goes_away_in_mid_row_fails_the_row(world: World) -> None:
    world.boards = [ScriptedBoard(raises("run", BoardUnavailable("the emulated board's process ended")))]
    outcome = world.measure()
    assert outcome.row.status is Status.FAILED and (outcome.row.reason or "").startswith("run: the emulated")
    assert outcome.row.console_tail == ["Traceback", "boom"] and world.opened[0].closed == 1


def test_a_fault_of_ours_fails_the_row_and_is_not_hidden(world: World) -> None:
    world.boards = [ScriptedBoard(raises("run", KeyError("oops")))]
    outcome = world.measure()
    assert isinstance(outcome.fault, KeyError) and outcome.fault.__traceback__ is not None
    assert outcome.row.status is Status.FAILED and "KeyError('oops')" in (outcome.row.reason or "")


def test_an_interruption_ends_a_row(world: World) -> None:
    def interrupt(stage: str) -> None:
        if stage == "run":
            raise KeyboardInterrupt

    world.boards = [ScriptedBoard(), ScriptedBoard(interrupt)]
    world.measure()
    world.bench._drop_board()
    with pytest.raises(KeyboardInterrupt):
        world.measure()


def test_the_native_clients_report_comes_from_its_server(world: World) -> None:
    output = RunOutput(None, [], [Reported(None), Reported(dict(RESULT))], None)
    board = ScriptedBoard(lambda stage: output if stage == "run" else None)
    world.boards = [board]
    row = world.measure(world.planned(Family.NATIVE)).row
    assert row.status is Status.MEASURED and row.settings == {"messages": 2}
    assert board.deployed == Deployment({}, "native")
    ranges = uf2.parse(board.flashed, "flashed").ranges()
    assert any(start <= 0x101FF000 < start + len(data) for start, data in ranges.items())


def test_a_workload_without_network_has_no_conditions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    output = RunOutput({"total_us": 30, "last": 2, "version": "1.26.0"}, [])
    board = ScriptedBoard(lambda stage: output if stage == "run" else None)
    world.boards = [board]
    row = world.measure(world.planned(workload=workload("spin"))).row
    assert row.status is Status.MEASURED, row.reason
    assert row.figures == {"total_us": 30, "us_per_pass": 10} and row.value == 10
    assert row.conditions == Conditions() and row.settings == {"passes": 3, "backwards": False}
    assert board.served == [] and world.bench.servers.own_turnaround == {}


@pytest.mark.parametrize(("name", "where"), [("ping_pong", "hosted"), ("spin", "emulated")])
def test_an_emulated_board_with_a_real_pc_is_hosted(
    name: str, where: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    monkeypatch.setattr(ScriptedBoard, "own_network", None)
    world.boards = [ScriptedBoard(raises("run", BoardError("over"))) for _ in range(2)]
    rows = [world.measure(world.planned(workload=workload(name))).row for _ in range(2)]
    assert [(row.where, row.reason) for row in rows] == [(where, "run: over")] * 2


def test_an_image_is_read_parsed_and_identified_once_for_a_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def counted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def work_and_count(*given: Any, **named: Any) -> Any:
            done.append(name)
            return work(*given, **named)

        return work_and_count

    for module, name in ((uf2, "read_bytes"), (uf2, "parse"), (identifying, "identify")):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    board = ScriptedBoard()
    world.boards = [board]
    planned = world.planned(Family.MICROPYTHON)
    done.clear()
    assert world.measure(planned).row.status is Status.MEASURED
    assert done == ["read_bytes", "parse", "identify"] and board.flashed == world.image.read_bytes()
