"""`EmulatedBoard`: an emulated board in this process. It needs no pseudo-terminal or folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from portbench_engine import flash_of_image

from portbench.boards.board import Board, Deployment, OwnNetwork, Progress, RunOutput, RuntimeIdentity, Unattended
from portbench.boards.definition import BoardDefinition, UsbId
from portbench.boards.deploy import check_digests, deploy_mpremote, differing
from portbench.boards.emulated.attribution import attribution
from portbench.boards.emulated.config import PC_DRIVER_GAP_US, EmulatedConfig
from portbench.boards.emulated.kept_flash import Kept, KeptFlash, usual_folder
from portbench.boards.emulated.liveness import Erasure, off_bus
from portbench.boards.emulated.partner import Partner, partner_config
from portbench.boards.emulated.run import Run
from portbench.boards.emulated.simulation import FLUSH_US, Simulation, counters, ps
from portbench.boards.emulated.wire import SimulatedWire
from portbench.boards.flashed import check_fits, check_started, usb_id
from portbench.boards.jitter import Jitter
from portbench.boards.repl import Repl, identify
from portbench.boards.timing import Deadline
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from portbench.firmware.uf2_families import chip_name
from portbench.server.simulated_pc import Part, part_in
from portbench.where import Where
from portbench.workloads import Timed

_QUIET_S: Final = 0.5
_SILENT_S: Final = 15.0


def own_network(config: EmulatedConfig) -> OwnNetwork:
    """Return the network of the simulated PC."""
    return OwnNetwork.of_pc(config.pc_ip, config.server_port, config.turnaround_us, config.access_point.credentials)


class EmulatedBoard(Board):
    """A board with `config` around it.

    Every image goes to a blank flash, and every deployment to the file system as the image made it: a run's figures do
    not depend on what the board did before. `reuse_flash`: start with what flash held on an earlier board with the same
    image and files, see `boards.emulated.kept_flash`. `attribute`: record where the time of runs goes. `log` gets one
    line per step and per fault of the cores. Raises BoardUnavailable for a board with a part that is not emulated.
    """

    where: Where = Where.EMULATED

    def __init__(
        self,
        definition: BoardDefinition,
        config: EmulatedConfig | None = None,
        *,
        reuse_flash: bool = False,
        attribute: bool = False,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.definition = definition
        self.config = config or EmulatedConfig()
        self.config.settings(definition)
        self.name = f"emulated {definition.title}"
        self.own_network = own_network(self.config)
        self._attribute = attribute
        self._log = log
        self._kept_flash = KeptFlash(usual_folder() if reuse_flash else None, definition, self.config)
        self._image: Uf2File | None = None
        self._kept: Kept | None = None
        """The flash after the first boot of the image; None: it has not booted yet."""
        self.contents = b""
        """The flash of the next run."""
        self._deployment: Deployment | None = None
        self._simulation: Simulation | None = None
        self._repl: Repl | None = None
        self._part: Part | None = None
        self._alone: Unattended | None = None
        self._partner: Partner | None = None
        self._run: Run | None = None

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        self._switch_off()
        self._image, self._deployment = image, None
        self._kept = self._kept_flash.read(image.sha256)
        if self._kept is not None:
            self.contents = self._kept.contents
            self._log("flash: as an earlier board left it after the first boot of this image")
            return
        if self.definition.avr is not None:
            try:
                self.contents = flash_of_image(image.data, self.definition.mcu)
            except ValueError as error:
                raise BoardError(f"{self.name}: {error}") from None
            return
        content = check_fits(self.name, self.definition, image)
        if content.family_id != self.definition.uf2_family:
            self._log(f"flash: {image.path.name} is for the board's other cores: {chip_name(content.family_id)}")
        self.contents = content.programmed()

    def wait_console(self, deadline: Deadline) -> None:
        """The first boot makes the file system, which nothing is to interrupt."""
        if self._kept is None:
            with self._blaming_erasure():
                self._boot(deadline)
                self._session.enter(deadline)
            self._kept = Kept(self._running.machine.flash(), None)

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        if self._kept is None or self._image is None:
            raise BoardError(f"{self.name}: its console has not answered yet")
        if self._kept.identity is None:
            with self._blaming_erasure():
                self._kept = replace(self._kept, identity=identify(self._session, deadline))
            self._kept_flash.write(self._kept, self._image.sha256)
        assert self._kept.identity is not None
        return self._kept.identity

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        self._deployment = None
        if not deployment.in_image:
            self._deploy(deployment, deadline)
        self._deployment = deployment

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        self._alone = alone
        self._part = part_in(workload, settings, None if alone is None else alone.exchanges)

    def join(self, server: EmulatedBoard, jitter: Jitter | None) -> Partner:
        """Power `server` up with its present flash; this board's next run joins its switch.

        Returns it once it listens. Raises BoardError if it never does.
        """
        config = replace(server.config, **({} if jitter is None else jitter.config()))
        partner = Partner(server.definition, partner_config(config, self.config), server.contents, self._log)
        partner.listen()
        self._partner = partner
        return partner

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if self._deployment is None:
            raise BoardError(f"{self.name}: nothing was deployed to run")
        began_s = time.process_time()
        self._switch_off()
        part, alone, partner = self._part, self._alone, self._partner
        self._part = self._alone = self._partner = None  # the next run may be of a client without a network
        surroundings = ({} if self.jitter is None else self.jitter.config()) | dict(self.equipment)
        if self._deployment.family == "foreign":
            surroundings["usb_request_gap_us"] = max(PC_DRIVER_GAP_US, self.config.usb_request_gap_us)
        run = self._run = Run(
            self.definition,
            replace(self.config, **surroundings),
            self.contents,
            part or Part(),
            networked=part is not None,
            alone=alone,
            partner=partner,
            name=self.name,
            heard=progress or (lambda line: None),
            log=self._log,
        )
        if self._attribute:
            run.machine.attribution_start()
        figures = run.to_end(deadline, may_give_up=self._deployment.family == "native")
        run.machine.attribution_stop()
        sim = {
            "host_s": time.process_time() - began_s,
            "flash_sha256": hashlib.sha256(run.machine.flash()).hexdigest(),
            "counters": {**counters(figures.stats), "simulated_us": figures.end_us},
        }
        return RunOutput(run.console.result, list(run.console.lines), run.sessions(), sim)

    def attribution(
        self, timed: Sequence[Timed], result: Mapping[str, Any], deadline: Deadline
    ) -> dict[str, Any] | None:
        if not self._attribute or self._run is None:
            return None
        return attribution(self._run.machine, timed, self._run.sessions(), dict(result), self.definition.mcu)

    def reset(self, deadline: Deadline) -> None:
        self._switch_off()

    def console_tail(self, n: int = 20) -> list[str]:
        simulation = self._run or self._simulation
        return [] if simulation is None else simulation.console.tail(n)

    def close(self) -> None:
        self._switch_off()

    def _deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        if self._kept is None or self._image is None:
            raise BoardError(f"{self.name}: its console has not answered yet")
        kept, image = self._kept, self._image.sha256
        before = self._kept_flash.read(image, deployment.files)
        self._switch_off()
        self.contents = (before or kept).contents
        if before is not None:
            self._log("deploy: an earlier board had the same files")
            return
        self._boot(deadline)
        if deployment.family == "circuitpython":
            self._copy(deployment.files, deadline)
        else:
            deploy_mpremote(self._session, deployment.files, deadline)
        check_digests(self._session, deployment.files, deadline)
        self._session.leave(deadline)
        if deployment.family == "circuitpython":
            running = self._running
            running.run_until(running.time_ps + ps(FLUSH_US), deadline)
        self.contents = self._running.machine.flash()
        self._kept_flash.write(Kept(self.contents, kept.identity), image, deployment.files)

    def _copy(self, files: Mapping[str, bytes], deadline: Deadline) -> None:
        """Write to CircuitPython's drive what differs, while its prompt is held: then it does not reload."""
        self._session.enter(deadline)
        for path in differing(self._session, files, deadline):
            try:
                self._running.machine.volume_apply([("write", path, files[path])])
            except OSError as error:
                raise BoardError(f"{self.name}: {path} cannot be written to its drive: {error}") from error

    @property
    def _running(self) -> Simulation:
        """The board outside of runs, switched on with `contents` in its flash."""
        if self._simulation is None:
            settings = self.config.settings(self.definition)
            self._simulation = Simulation(self.contents, settings, name=self.name, log=self._log)
        return self._simulation

    @property
    def _session(self) -> Repl:
        if self._repl is None:
            self._repl = Repl(SimulatedWire(self._running, self._look), self.name)
        return self._repl

    def _boot(self, deadline: Deadline) -> None:
        """Switch the board on, and wait until it has said what it says at its start. Raises BoardError."""
        self._switch_off()
        wire = self._session.wire
        wire.until(deadline, f"{self.name}'s console")
        if self._image is not None and self._has_usb:
            machine = self._running.machine
            while not (usb := machine.usb())["configured"]:
                wire.inWaiting()
            check_started(self.name, self.definition, self._image, UsbId(usb["vid"], usb["pid"]))
        wire.read_some(_SILENT_S)
        wire.read_until_quiet(_QUIET_S, _SILENT_S)

    def _look(self) -> None:
        """Raise BoardError with the reason where the console will never answer."""
        simulation = self._running
        if (why := simulation.stuck) is not None:
            raise BoardError(f"{self.name}: stopped: {why}")
        # The machine is asked only while it is off the bus: this runs each simulated millisecond.
        off_us = simulation.liveness.off_bus_us(simulation.time_us)
        if off_us and self._has_usb and (why := off_bus(off_us, simulation.machine.usb())) is not None:
            raise BoardError(f"{self.name}: {why}")

    @contextmanager
    def _blaming_erasure(self) -> Iterator[None]:
        """Add to an error of the block that the program has erased a part of its image."""
        try:
            yield
        except BoardError as error:
            if self._image is None or self._image.content is None:
                raise
            erasure = Erasure(self._image.content.flash_bytes())
            erasure.look(self._running.machine.flash())
            if erasure.told is None:
                raise
            raise BoardError(f"{error}; the program has {erasure.told}") from error

    @property
    def _has_usb(self) -> bool:
        return self._image is not None and usb_id(self.definition, self._image.identity) is not None

    def _switch_off(self) -> None:
        self._simulation = self._repl = self._run = None
