"""Traced runs of real firmware: they are the very runs that are measured, to the picosecond."""

from dataclasses import replace

import pytest

from portbench.boards import BoardError, Deadline, DeadlineExceeded, Deployment
from portbench.boards.emulated.board import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig, LanFaults
from portbench.boards.emulated.replay import Figures, Replay
from portbench.boards.emulated.simulation import ps
from portbench.firmware.identify import Uf2File
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.replayed import ReplayedRow
from portbench.runner.trace.record import trace_row
from portbench.server.simulated_pc import SimulatedServer, part_in
from tests.conftest import Image
from tests.ping_pong import EVB, NATIVE_IMAGE

pytestmark = pytest.mark.engine
MESSAGES = 12


def options(runtime: str, profile: str) -> BenchOptions:
    return BenchOptions().but(
        runtimes=(runtime,), profiles=(profile,), where="emulated", runs=1, settings={"messages": MESSAGES}
    )


def limit(seconds: float = 60) -> Deadline:
    return Deadline(seconds, "trace")


@pytest.fixture(scope="module")
def native() -> tuple[EmulatedConfig, bytes]:
    bench = options("portbench-native", "tuned")
    return ReplayedRow(plan(bench)[0]).prepared


@pytest.fixture(scope="module")
def figures(native: tuple[EmulatedConfig, bytes]) -> Figures:
    return Replay(EVB, *native, "ping_pong", {}).run(limit())


def test_two_replays_are_equal(native: tuple[EmulatedConfig, bytes], figures: Figures) -> None:
    again = Replay(EVB, *native, "ping_pong", {}).run(limit())
    assert again == figures
    assert figures.result is not None and figures.result["messages"] == MESSAGES
    slower = Replay(EVB, replace(native[0], turnaround_us=201), native[1], "ping_pong", {}).run(limit())
    assert slower != figures


def test_lost_frames_are_lost_alike_each_time(native: tuple[EmulatedConfig, bytes]) -> None:
    lossy = replace(native[0], faults=LanFaults(seed=2, loss_from_board_per_mille=50, loss_to_board_per_mille=50))
    one, again = (Replay(EVB, lossy, native[1], "ping_pong", {}).run(limit()) for _ in range(2))
    assert one == again and one.result is not None
    assert one.result["total_us"] > 1_000_000, "frames were lost, and sent again after a second or more"


def test_a_replay_is_the_boards_own_run(native: tuple[EmulatedConfig, bytes], figures: Figures) -> None:
    board = EmulatedBoard(EVB, native[0])
    board.flash(Uf2File.read(NATIVE_IMAGE), limit())
    board.contents = native[1]
    board.deploy(Deployment({}, "native"), limit())
    board.serve("ping_pong", {}, limit())
    measured = board.run(limit())
    assert measured.sessions == figures.sessions and measured.sim is not None
    counters = {name: value for name, value in figures.stats.items() if isinstance(value, int | float)}
    assert measured.sim["counters"] == {**counters, "simulated_us": figures.end_us}


@pytest.mark.parametrize("pc_sample_cycles", [0, 1, 977])
def test_tracing_moves_nothing(native: tuple[EmulatedConfig, bytes], figures: Figures, pc_sample_cycles: int) -> None:
    # Replay.trace itself raises BoardError where its own run differs from `figures`.
    replay = Replay(EVB, *native, "ping_pong", {})
    trace = replay.trace(figures, 7, limit(), pc_sample_cycles=pc_sample_cycles)
    received_us = figures.sessions[0].received_us
    assert (trace.start_us, trace.end_us) == (received_us[5], received_us[6])
    assert bool(trace.pc_samples) == bool(pc_sample_cycles) and not trace.lost
    assert replay.run(limit()) == figures


def test_tracing_the_whole_run_moves_nothing(native: tuple[EmulatedConfig, bytes], figures: Figures) -> None:
    """Every kind of record and an exact profile at once, from power-up to the end."""
    from portbench_engine import Machine, bootrom

    config, flash = native
    machine = Machine(bootrom(), flash, config.settings(EVB))
    server = SimulatedServer(part_in("ping_pong", {}).service())
    machine.listen(config.server_port, server)
    machine.spi_log(True)
    machine.profile_start()
    machine.trace_start(["spi", "pins", "irq", "usb", "lan", "pc", "registers", "reset", "cores", "wire"], 5000, 10_007)
    while machine.time_us < figures.end_us:
        machine.run_until_ps(ps(figures.end_us))
        machine.console_read()
        machine.usb_events()
    assert server.sessions() == [replace(session, leased_us=None) for session in figures.sessions]
    assert machine.stats() == figures.stats
    records, lost = machine.trace_take()
    assert len(records) == 5000 and lost > 0
    assert len(machine.spi_log_take()) > 10 * MESSAGES
    spent = [spent for _, spent in machine.profile_take()["addresses"]]
    assert sum(instructions for instructions, *_ in spent) == figures.stats["instructions"]


def test_a_disturbed_run_is_refused(native: tuple[EmulatedConfig, bytes], figures: Figures) -> None:
    with pytest.raises(BoardError, match="tracing it changed the run"):
        Replay(EVB, *native, "ping_pong", {}).trace(replace(figures, result={"messages": 1}), 3, limit())


def test_one_message_of_the_native_client(native: tuple[EmulatedConfig, bytes], figures: Figures) -> None:
    trace = Replay(EVB, *native, "ping_pong", {}).trace(figures, 8, limit())
    assert 205 < trace.duration_us < 230  # the PC's 200 us, the cable twice, and the client
    commands = [frame.meaning for frame in trace.frames if frame.name == "S0_CR" and frame.write]
    assert sorted(commands) == ["RECV", "SEND"]
    assert [frame.meaning for frame in trace.frames if frame.name == "S0 RX buffer"] == ["'14'"]
    assert [event.what.split(",")[0] for event in trace.events if "frame" in event.what] == [
        "PC's frame",
        "board's frame",
    ]
    assert [event.what for event in trace.events if "INTn" in event.what] == ["INTn low", "INTn high"]
    assert 0 < trace.selected_us < trace.duration_us - 190
    for one, two in zip(trace.frames, trace.frames[1:], strict=False):
        assert one.start_us < one.end_us <= two.start_us
    for frame in trace.frames:  # at 33.25 MHz a byte takes 241 ns
        assert frame.duration_us >= frame.wire_bytes * 0.24


def test_a_run_without_a_result_ends_at_the_deadline(native: tuple[EmulatedConfig, bytes]) -> None:
    with pytest.raises(DeadlineExceeded, match="still waiting for the result; the board printed"):
        Replay(EVB, *native, "ping_pong", {}).run(limit(0.001))
    with pytest.raises(BoardError, match="went to the boot loader before its run was over"):
        Replay(EVB, native[0], b"", "ping_pong", {}).run(limit())


def test_messages_of_lwip_are_as_the_findings_say(image: Image) -> None:
    image("micropython-1.26.0")
    bench = options("micropython-1.26.0", "tuned")
    trace = trace_row(ReplayedRow(plan(bench)[0]), 6)
    assert 45 <= len(trace.frames) <= 52 and 300 <= trace.wire_bytes <= 325
    assert any(frame.meaning == "SOCK_MACRAW" for frame in trace.frames)
