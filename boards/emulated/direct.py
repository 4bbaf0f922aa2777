"""`DirectBoard`: an emulated board in this process. It has no process, pseudo-terminal or folder, so it runs
where there are none, as in a browser. Its rows equal those of `EmulatedBoard`: both start a measured run from a power
cycle with equal flash.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final

from portbench_engine import flash_of_image

from portbench.boards.board import Board, Deployment, OwnNetwork, Progress, RunOutput, RuntimeIdentity, Unattended
from portbench.boards.definition import MASK, BoardDefinition, board_address
from portbench.boards.emulated.attribution import attribution
from portbench.boards.emulated.client_watch import ClientWatch
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Run
from portbench.boards.emulated.simulation import PS_PER_S, Simulation, ps
from portbench.boards.timing import Deadline
from portbench.boards.usb.files import check_digests, deploy_mpremote, differing
from portbench.boards.usb.repl import Repl, identify
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from portbench.server.simulated_pc import Part, part_in
from portbench.where import Where
from portbench.workloads import Timed

FLUSH_US: Final = 1_500_000.0
"""CircuitPython keeps its last writes in RAM for a second (its file system's flush interval)."""
_STEP_PS: Final = PS_PER_S // 1000
_TYPED_BYTES: Final = 256
_QUIET_S: Final = 0.5
_SILENT_S: Final = 15.0


class SimulatedWire:
    """The board's console in simulated time, as `boards.usb.port.Wire` has a port's in real time."""

    port = "the simulated console"

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self._name = name
        self._buffer = bytearray()
        self._deadline: Deadline | None = None
        self._waiting_for = ""
        self.is_open = True

    def until(self, deadline: Deadline, waiting_for: str) -> None:
        self._deadline, self._waiting_for = deadline, waiting_for

    def read(self, n: int = 1) -> bytes:
        while len(self._buffer) < n:
            self._advance()
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data

    def read_some(self, wait_s: float) -> bytes:
        end_ps = self._simulation.time_ps + round(wait_s * PS_PER_S)
        while not self._buffer and self._simulation.time_ps < end_ps:
            self._advance()
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def read_until_quiet(self, quiet_s: float, most_s: float) -> bytes:
        end_ps = self._simulation.time_ps + round(most_s * PS_PER_S)
        data = b""
        while self._simulation.time_ps < end_ps and (more := self.read_some(quiet_s)):
            data += more
        return data

    def inWaiting(self) -> int:
        self._advance()
        return len(self._buffer)

    def write(self, data: bytes) -> int:
        machine, at = self._simulation.machine, 0
        while at < len(data):
            at += machine.console_write(data[at : at + _TYPED_BYTES])
            while machine.console_unsent:
                self._advance()
        return len(data)

    def close(self) -> None:
        self.is_open = False

    def _advance(self) -> None:
        if self._deadline is not None:
            self._deadline.check(self._waiting_for)
        simulation = self._simulation
        self._buffer += simulation.advance(simulation.time_ps + _STEP_PS).printed


class DirectBoard(Board):
    """A board with `config` around it. Every image goes to a blank flash, and every deployment to the file system as
    the image made it. `attribute`: record where the time of measured runs goes."""

    where: Where = Where.EMULATED

    def __init__(
        self, definition: BoardDefinition, config: EmulatedConfig | None = None, *, attribute: bool = False
    ) -> None:
        self.definition = definition
        self.config = config or EmulatedConfig()
        self.name = f"emulated {definition.title}"
        ip = self.config.pc_ip
        static = (board_address(ip), MASK, ip, ip)
        self.own_network = OwnNetwork(
            ip, self.config.server_port, static, self.config.turnaround_us, self.config.access_point.credentials
        )
        self._attribute = attribute
        self._first = b""
        """The flash with the file system that the image made in it."""
        self._flash = b""
        """The flash of the next run."""
        self._simulation: Simulation | None = None
        self._repl: Repl | None = None
        self._deployment: Deployment | None = None
        self._part = Part()
        self._alone: Unattended | None = None
        self._run: Run | None = None

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        try:
            self._first = self._flash = flash_of_image(image.data, self.definition.mcu)
        except ValueError as error:
            raise BoardError(f"{self.name}: {error}") from None
        self._deployment = None
        self._power_up(self._flash)

    def wait_console(self, deadline: Deadline) -> None:
        """The first boot makes the file system, which nothing is to interrupt."""
        self._repl = self._booted(deadline)
        self._repl.enter(deadline)
        self._first = self._running.machine.flash()

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        return identify(self._session, deadline)

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        self._deployment = None
        if not deployment.in_image:
            self._power_up(self._first)
            self._repl = self._booted(deadline)
            if deployment.family == "circuitpython":
                self._copy(deployment.files, deadline)
            else:
                deploy_mpremote(self._session, deployment.files, deadline)
            check_digests(self._session, deployment.files, deadline)
            self._session.leave(deadline)
            if deployment.family == "circuitpython":
                running = self._running
                running.run_until(running.time_ps + ps(FLUSH_US), deadline)
            self._flash = self._running.machine.flash()
        self._deployment = deployment

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        self._alone = alone
        self._part = part_in(workload, settings, None if alone is None else alone.exchanges)

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if self._deployment is None:
            raise BoardError(f"{self.name}: nothing was deployed to run")
        began_s = time.process_time()
        self._simulation = self._repl = None
        jitter = {} if self.jitter is None else self.jitter.config()
        config = replace(self.config, **jitter, **self.equipment)
        run = self._run = Run(self._flash, config.settings(self.definition))
        port = None if self.definition.network is None else config.server_port
        pc = run.serve(port, config.turnaround_us, self._part)
        watch = ClientWatch(run, self.definition, config)
        watch.alone = self._alone
        self._part, self._alone = Part(), None
        if watch.alone is not None:
            watch.expect(True, started=True)
            pc.poll(run.machine, board_address(config.pc_ip), run.time_us)
        if self._attribute:
            run.machine.attribution_start()
        figures = run.to_end(deadline, lambda: watch.stuck(finished=False))
        run.machine.attribution_stop()
        stats = {name: value for name, value in figures.stats.items() if isinstance(value, int | float)}
        sim = {
            "host_s": time.process_time() - began_s,
            "flash_sha256": hashlib.sha256(run.machine.flash()).hexdigest(),
            "counters": {**stats, "simulated_us": figures.end_us},
        }
        return RunOutput(run.console.result, list(run.console.lines), pc.sessions(), sim)

    def attribution(
        self, timed: Sequence[Timed], result: Mapping[str, Any], deadline: Deadline
    ) -> dict[str, Any] | None:
        run = self._run
        if not self._attribute or run is None or run.pc is None:
            return None
        return attribution(run.machine, timed, run.pc.sessions(), dict(result), self.definition.mcu)

    def reset(self, deadline: Deadline) -> None:
        self._power_up(self._flash)

    def console_tail(self, n: int = 20) -> list[str]:
        simulation = self._simulation or self._run
        return [] if simulation is None else simulation.console.tail(n)

    def close(self) -> None:
        self._simulation = self._repl = self._run = None

    @property
    def _running(self) -> Simulation:
        if self._simulation is None:
            self._power_up(self._flash)
        assert self._simulation is not None
        return self._simulation

    @property
    def _session(self) -> Repl:
        if self._repl is None:
            self._repl = Repl(SimulatedWire(self._running, self.name), self.name)
        return self._repl

    def _booted(self, deadline: Deadline) -> Repl:
        """The prompt, once the board has said what it says at its start."""
        wire = SimulatedWire(self._running, self.name)
        wire.until(deadline, f"{self.name}'s console")
        wire.read_some(_SILENT_S)
        wire.read_until_quiet(_QUIET_S, _SILENT_S)
        return Repl(wire, self.name)

    def _power_up(self, flash: bytes) -> None:
        self._repl = self._run = None
        self._simulation = Simulation(flash, self.config.settings(self.definition))

    def _copy(self, files: Mapping[str, bytes], deadline: Deadline) -> None:
        """Write to CircuitPython's drive what differs, while its prompt is held: then it does not reload."""
        self._session.enter(deadline)
        machine, made = self._running.machine, set()
        for path in differing(self._session, files, deadline):
            folders = [str(each) for each in reversed(PurePosixPath(path).parents[:-1]) if str(each) not in made]
            made |= set(folders)
            try:
                machine.volume_apply([*(("mkdir", each, b"") for each in folders), ("write", path, files[path])])
            except OSError as error:
                raise BoardError(f"{self.name}: {path} cannot be written to its drive: {error}") from error
