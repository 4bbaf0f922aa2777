"""gdb-multiarch itself on an emulated board, with the native client, which needs no image."""

import contextlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards import BoardError, Deadline
from portbench.boards.desk.board import DeskBoard
from portbench.boards.emulated.attribution import spent
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.gdb_server import GdbServer
from portbench.boards.emulated.replay import Figures, Replay, Run
from portbench.firmware.uf2 import flash_content
from portbench.runner.trace.pcapng import read_capture
from tests import patience
from tests.ping_pong import EVB, NATIVE_IMAGE

LIMIT_S = 120
FLASH = flash_content(NATIVE_IMAGE)
RESET = int.from_bytes(FLASH[0x104:0x108], "little") & ~1
"""Start of the image's own code (its vector table is behind boot2)."""


def gdb_path() -> str:
    path = shutil.which("gdb-multiarch")
    if path is None:
        pytest.skip("gdb-multiarch is not installed; run: sudo .ci/install-system-packages")
    return path


class Gdb:
    """gdb in batch mode, which attaches, does what it is told, and ends."""

    def __init__(self, port: int, *commands: str) -> None:
        words = [gdb_path(), "-nx", "-batch", "-ex", "set pagination off", "-ex", f"target extended-remote :{port}"]
        for command in commands:
            words += ["-ex", command]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._said = self._process.stdout.read()

    @property
    def runs(self) -> bool:
        return self._reader.is_alive()

    def wait(self) -> bool:
        """A moment; whether it still runs."""
        self._reader.join(0.02)
        return True

    def end(self) -> str:
        self._reader.join(LIMIT_S)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(LIMIT_S)
        return self._said


def limit() -> Deadline:
    return Deadline(LIMIT_S, "gdb")


@pytest.fixture(scope="module")
def replay() -> Replay:
    config = EmulatedConfig(phy_link_delay_us=1000)
    return Replay(EVB, config, FLASH, "ping_pong", {})


@pytest.fixture(scope="module")
def figures(replay: Replay) -> Figures:
    return replay.run(limit())


@pytest.fixture
def server() -> Iterator[GdbServer]:
    server = GdbServer(0, lambda line: None)
    yield server
    server.close()


def test_breakpoints_registers_memory_and_steps_move_no_time(
    replay: Replay, figures: Figures, server: GdbServer
) -> None:
    gdb = Gdb(
        server.port,
        "info threads",
        f"hbreak *{RESET:#x}",
        "continue",
        "monitor time",
        "p/x $pc",
        "p/x $sp",
        "p/x $msp",
        "x/2xw 0x10000100",
        "x/1xw 0x40034000",
        "stepi",
        "stepi",
        "stepi",
        "monitor time",
        "delete",
        "watch *(unsigned *)0x20041ff0",
        "continue",
        "p/x *(unsigned *)0x20041ff0",
        "delete",
        "thread 2",
        "p/x $pc",
        "continue",
    )
    found = replay.debug(figures, server, gdb.wait)
    said = gdb.end()
    assert found == figures, said
    assert "Thread 1.1 (core 0: Running)" in said and "Thread 1.2 (core 1: Running)" in said
    assert f"Breakpoint 1, {RESET:#010x} in" in said
    values = dict(re.findall(r"^\$(\d+) = (0x[0-9a-f]+)$", said, re.MULTILINE))
    stack = int.from_bytes(FLASH[0x100:0x104], "little")
    assert [int(values[number], 16) for number in "123"] == [RESET, stack, stack]
    assert re.search(rf"0x10000100:\s+{stack:#010x}\s+{RESET | 1:#010x}", said)
    assert "Cannot access memory at address 0x40034000" in said  # reading a FIFO would take from it
    before, after = (float(us) for us in re.findall(r"^([0-9.]+) us of simulated time", said, re.MULTILINE))
    assert (after - before) * 6.5 == pytest.approx(251, abs=1e-3), (
        "cycles of three instructions from the flash, on ROSC"
    )
    assert "Hardware watchpoint 2" in said and "Old value" in said
    assert "exited normally" in said


KINDS = ("spi", "pins", "irq", "usb", "lan", "pc", "registers", "reset", "cores", "wire")
MOST_RECORDS = 200_000


class Probed(Replay):
    """Every probe that there is, from power-up on."""

    run: Run

    def start(self) -> Run:
        self.run = run = super().start()
        machine = run.machine
        machine.attribution_start()
        machine.spi_log(True)
        machine.log_frames(10_000)
        machine.trace_start(KINDS, MOST_RECORDS, 500)
        machine.profile_start()
        return run


def test_all_probes_together_move_nothing(figures: Figures, server: GdbServer, tmp_path: Path) -> None:
    """Attribution, SPI and cable logs, trace (VCD, Perfetto), capture (pcapng), exact profile and gdb in one run."""
    capture = tmp_path / "frames.pcap"
    probed = Probed(EVB, EmulatedConfig(phy_link_delay_us=1000, capture=capture), FLASH, "ping_pong", {})
    gdb = Gdb(server.port, f"hbreak *{RESET:#x}", "continue", "stepi", "info registers", "continue")
    assert probed.debug(figures, server, gdb.wait) == figures, gdb.end()
    assert f"Breakpoint 1, {RESET:#010x}" in gdb.end()
    machine = probed.run.machine
    machine.attribution_stop()
    went = spent(machine, 0.0, figures.end_us)
    assert went is not None and sum(went.causes_ps.values()) == round(figures.end_us * 1e6)
    records, lost = machine.trace_take()
    assert {record["kind"] for record in records} >= {"spi", "pins", "irq", "lan", "pc", "registers", "cores", "wire"}
    assert len(records) == MOST_RECORDS or not lost
    frames, transfers = machine.lan_frames(), machine.spi_log_take()
    assert len(transfers) == figures.stats["chip_selects"]
    profile = machine.profile_take()
    assert sum(each[1][0] for each in profile["addresses"]) == figures.stats["instructions"]
    del machine, probed.run  # its capture is whole then
    assert len(frames) == len(list(read_capture(capture))) > 2 * len(figures.sessions[0].received_us)


def test_a_run_goes_on_without_gdb(replay: Replay, figures: Figures, server: GdbServer) -> None:
    """Batch mode detaches at its end; written values stay."""
    gdb = Gdb(server.port, f"hbreak *{RESET:#x}", "continue", "set var *(unsigned *)0x20030000 = 0x12345678")
    assert replay.debug(figures, server, gdb.wait) == figures
    assert f"Breakpoint 1, {RESET:#010x}" in gdb.end()


def test_a_breakpoint_among_the_messages_stops_at_each(replay: Replay, figures: Figures, server: GdbServer) -> None:
    """The breakpoint is where a profile of one message has a function's start."""
    received_us = figures.sessions[0].received_us
    profile = replay.profile(figures, (received_us[3], received_us[4]), limit())
    called = {function: calls for _, function, core, exception, calls, _, _ in profile["nodes"] if not exception}
    function = min(start for start in profile["starts"] if called.get(start) == 1)
    gdb = Gdb(
        server.port, f"hbreak *{function:#x}", "continue", "continue", "continue", "p/x $pc", "delete", "continue"
    )
    found = replay.debug(figures, server, gdb.wait)
    said = gdb.end()
    assert found == figures, said
    assert said.count(f"Breakpoint 1, {function:#010x}") == 3


def test_a_reset_through_gdb(replay: Replay, figures: Figures, server: GdbServer) -> None:
    gdb = Gdb(
        server.port,
        f"hbreak *{RESET:#x}",
        "continue",
        "monitor reset",
        "maintenance flush register-cache",
        "p/x $pc",
        "continue",
        "monitor nonsense",
        "detach",
    )
    replay.debug(figures, server, gdb.wait)
    said = gdb.end()
    assert said.count(f"Breakpoint 1, {RESET:#010x}") == 2
    assert "both cores are at their reset" in said and "monitor reset: " in said
    boot = re.search(r"^\$1 = (0x[0-9a-f]+)$", said, re.MULTILINE)
    assert boot is not None and int(boot[1], 16) < 0x4000


def test_nonsense_ends_the_connection_and_not_the_board(replay: Replay, figures: Figures, server: GdbServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"$garbage#00+$#00\x03\x03" + bytes(range(128, 256)) * 40)
        client.shutdown(socket.SHUT_WR)
        found = replay.debug(figures, server, lambda: True)
    assert found == figures


def test_data_without_the_end_of_a_packet_is_bounded(replay: Replay) -> None:
    said: list[str] = []
    machine = replay.start().machine
    with contextlib.closing(GdbServer(0, said.append)) as server:
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", server.port)) as client:

                def serve(until: Callable[[], bool], server: GdbServer = server) -> None:
                    limit().poll(lambda: server.serve(machine, 0.02) or until(), 0.0, "its data to be taken")

                client.sendall(b"+" * (1 << 16) + b"$?#3f" + b"+" * ((1 << 16) - 2))
                serve(lambda: bool(select.select([client], [], [], 0)[0]))
                assert client.recv(100).startswith(b"+$T")
                client.sendall(b"$")
                serve(lambda: not server.attached)
    assert [line for line in said if "attached" not in line] == [
        "gdb: more than 65536 bytes without the end of a packet"
    ] * 2


def test_gdb_and_a_desk_at_once(tmp_path: Path) -> None:
    """A board that runs by itself is stopped by attaching, steps, and runs on after detaching."""
    flash = tmp_path / "flash.bin"
    flash.write_bytes(FLASH)
    with DeskBoard.started(EVB, None, f"--flash={flash}") as board:
        port = board.control("gdb", limit(), port=0)["port"]
        assert board.control("gdb", limit(), port=0)["port"] == port
        said = Gdb(port, "stepi", "monitor time", "detach").end()
        assert "us of simulated time" in said
        at_us = board.control("status", limit())["time_us"]
        limit().poll(lambda: board.control("status", limit())["time_us"] > at_us + 5000, 0.02, "it to run on")
    with pytest.raises(BoardError):
        board.control("status", limit())


def test_the_command_tells_what_it_does_before_gdb_can_attach(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "portbench", "gdb", "--port=0", "--messages=3"]
    # A file, not a pipe: each line has to be out before the next stage begins, however it is buffered.
    with (tmp_path / "said.txt").open("w+") as said:
        with patience.started(command, stdout=subprocess.PIPE, stderr=said) as process:
            read = Path(said.name).read_text
            limit().poll(lambda: "target extended-remote" in read() or process.poll() is not None, 0.05, "its hint")
            process.send_signal(signal.SIGINT)
            printed, _ = patience.communicate(process, LIMIT_S)
        lines = read().splitlines()
    assert printed == ""
    stages = [line.partition(": ")[2] for line in lines[:2]]
    assert stages == ["puts the image and its client on an emulated board", "runs it once without gdb, for its figures"]
    assert "waits at its power-up" in lines[2]
