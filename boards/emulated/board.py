"""`EmulatedBoard`: a board in a process of ours, driven through the serial port and the folder that it shows."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final

import portbench
from portbench.boards.board import Board, Deployment, OwnNetwork, Progress, RunOutput, RuntimeIdentity, Unattended
from portbench.boards.definition import MASK, PC_IP, SERVER_PORT, BoardDefinition, board_address
from portbench.boards.emulated.config import CONFIG, PC_DRIVER_GAP_US, EmulatedConfig, engine_settings
from portbench.boards.emulated.control import LOOK_S, ControlClient, Controls, Watch
from portbench.boards.emulated.kept_flash import Kept, KeptFlash, usual_folder
from portbench.boards.jitter import Jitter
from portbench.boards.registry import read_state, runtime_dir
from portbench.boards.timing import Deadline
from portbench.boards.usb.board import Deployer, UsbBoard
from portbench.boards.usb.bus import EmulatedBus, is_bootloader
from portbench.boards.wifi import AccessPoint
from portbench.errors import BoardError, BoardUnavailable, BrokenSetup
from portbench.files import TemporaryFolder
from portbench.firmware.identify import Uf2File
from portbench.server.calls import Listening
from portbench.signals import deferred_interrupts
from portbench.where import Where
from portbench.workloads import Session, Timed

_START_S = 30.0
_STOP_S = 5.0
_TERM_S: Final = 1.0
"""To end by SIGTERM, which is not heard while the engine copies an image. SIGKILL leaves no more behind."""
_POLL_S = 0.02
_ROOT = Path(portbench.__file__).parents[1]
_numbers = itertools.count()
_EQUIPMENT: Final[Mapping[str, object]] = {"ntp_start_s": None, "resolves_names": False, "sd_card": None}
"""The parts that workloads ask for, and the value without: they are removed for the next workload."""


class EmulatedBoard(UsbBoard):
    """Starts a board and ends it at `close`. The board's process also ends when this one does, however that ends.

    `config` replaces all other surroundings. `flash`: a raw image with the first contents of the flash.
    `fresh`: every image goes to a blank flash and every deployment to the file system as the image made it, so that a
    run's figures do not depend on what the board did before. `reuse_flash`: start with what flash held on an earlier
    board with the same image and files, see `boards.emulated.kept_flash`. `attribute`: record where the time of
    measured runs goes.
    Raises BoardUnavailable where boards cannot be emulated, BrokenSetup where they could be, but none starts.
    """

    where: Where = Where.EMULATED

    def __init__(
        self,
        definition: BoardDefinition,
        *,
        turnaround_us: int = 200,
        phy_link_delay_s: float = 1.5,
        access_point: AccessPoint | None = None,
        pc_ip: IPv4Address = PC_IP,
        server_port: int = SERVER_PORT,
        deployer: Deployer = "mpremote",
        config: EmulatedConfig | None = None,
        flash: Path | None = None,
        log: Callable[[str], None] | None = None,
        save_files_to: Path | None = None,
        fresh: bool = False,
        reuse_flash: bool = False,
        attribute: bool = False,
    ) -> None:
        if os.name != "posix":
            raise BoardUnavailable("emulated board: pseudo-terminals do not exist on this operating system")
        engine_settings(definition)  # refuse it here in one line, before a process is started
        self.config = config or EmulatedConfig(
            turnaround_us=turnaround_us,
            phy_link_delay_us=round(phy_link_delay_s * 1e6),
            access_point=access_point or AccessPoint(),
            pc_ip=pc_ip,
            server_port=server_port,
        )
        name = f"emulated-{os.getpid()}-{next(_numbers)}"
        self.folder = runtime_dir() / name
        self._control: ControlClient | None = None
        self._watch: Watch | None = None
        self._fresh = fresh
        self._kept_flash = KeptFlash(usual_folder() if reuse_flash else None, definition, self.config)
        self._kept: Kept | None = None
        """The flash of a `fresh` board after the first boot of its image."""
        self._identity: RuntimeIdentity | None = None
        self._served = False
        self._paired = False
        self._attribute = attribute
        with deferred_interrupts():
            temporary = TemporaryFolder("portbench-emulated")
            self._log_path = temporary.path / "log.txt"
            self._process = self._start(definition, name, flash)
            # Also where Ctrl-C comes before the caller has this object, or in the middle of `close`.
            self._end = weakref.finalize(self, _end, self._process, self.folder, temporary)
        try:
            deadline = Deadline(_START_S, f"emulated {definition.title}")
            try:
                deadline.poll(self._has_started, _POLL_S, "its process to start")
            except BoardUnavailable as error:
                raise BrokenSetup(str(error)) from None
            self._control = ControlClient(self.folder, name)
            self._watch = Watch(self._control, f"emulated {definition.title}", self._waits_for_usb)
            bus = EmulatedBus(self.folder)
            deadline.poll(lambda: self._alive() and bool(bus.devices()), _POLL_S, "USB to enumerate")
            super().__init__(
                definition,
                device="auto",
                deployer=deployer,
                bus=bus,
                choose=lambda devices: devices[0] if devices else None,
                power=self,
                watch=self._look,
                save_files_to=save_files_to,
                log=log,
                name=f"emulated {definition.title}",
                poll_s=_POLL_S,
            )
        except BaseException:
            self._stop()
            raise
        if not self.config.bridge:
            ip = self.config.pc_ip
            static = (board_address(ip), MASK, ip, ip)
            self.own_network = OwnNetwork(
                ip, self.config.server_port, static, self.config.turnaround_us, self.config.access_point.credentials
            )

    def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
        """Switch the board off and on, see `boards.usb.link.Power`."""
        self._cycle(deadline, bootsel=bootsel, measured=measured, gap_us=self.config.usb_request_gap_us)

    def _cycle(self, deadline: Deadline, *, bootsel: bool, measured: bool, gap_us: int) -> None:
        networked = measured and (self._served or self._paired)
        attribute = measured and self._attribute
        config: dict[str, Any] = {}
        if measured:
            jitter = {} if self.jitter is None else self.jitter.config()
            usual = {name: none for name, none in _EQUIPMENT.items() if getattr(self.config, name) == none}
            config["config"] = {**jitter, **usual, **self.equipment, "usb_request_gap_us": gap_us}
        self.control(
            "power_cycle",
            deadline,
            bootsel=bootsel,
            measured=measured,
            networked=networked,
            attribute=attribute,
            **config,
        )

    def control(self, op: str, deadline: Deadline, **arguments: Any) -> dict[str, Any]:
        """Ask the board's process; see `boards.emulated.operations`."""
        if self._control is None:
            raise BoardError(f"emulated {self.definition.title}: is closed")
        return self._control.call(op, deadline, **arguments)

    @property
    def controls(self) -> Controls:
        """The board's pins and UARTs."""
        return Controls(self.control, self.name)

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        self._identity = None
        self._kept = self._kept_flash.read(image.sha256) if self._fresh else None
        if self._kept is not None:
            self._start_with(self._kept.contents, deadline)
            self._image, self._deployment, self._started = image, None, True
            self.link.log("flash: as an earlier board left it after the first boot of this image")
            return
        if self._fresh:
            self.release_port()
            self.control("power_cycle", deadline, flash="blank")
            boots = f"{self.name} to start its boot loader"
            self.link.wait_device(lambda device: is_bootloader(device, self.definition), deadline, boots)
        super().flash(image, deadline)

    def wait_console(self, deadline: Deadline) -> None:
        if self._known is None:
            super().wait_console(deadline)

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        if self._known is not None:
            return self._known
        self._identity = super().identify(deadline)
        return self._identity

    @property
    def _known(self) -> RuntimeIdentity | None:
        """What an earlier board with this image said; None: this one is asked."""
        return None if self._kept is None else self._kept.identity

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        image = None if self._image is None else self._image.sha256
        if not self._fresh or deployment.in_image or image is None:
            self._copy(deployment, deadline)
            return
        if self._kept is None:
            self._session(deadline).enter(deadline)  # the first boot, which makes the file system, is over
            self._kept = Kept(self._contents(deadline), self._identity)
            self._kept_flash.write(self._kept, image)
        how = f"{deployment.family} {self._deployer}"
        before = self._kept_flash.read(image, deployment.files, how)
        self._start_with((before or self._kept).contents, deadline)
        if before is not None:
            self._deployment = deployment
            self.link.log("deploy: an earlier board had the same files")
            return
        self._copy(deployment, deadline)
        self._kept_flash.write(Kept(self._contents(deadline), self._kept.identity), image, deployment.files, how)

    def _copy(self, deployment: Deployment, deadline: Deadline) -> None:
        super().deploy(deployment, deadline)
        if deployment.family == "circuitpython":
            self.control("sync", deadline)

    def _contents(self, deadline: Deadline) -> bytes:
        return base64.b64decode(self.control("flash", deadline)["flash"])

    def _start_with(self, contents: bytes, deadline: Deadline) -> None:
        """Switch the board on again with `contents` in its flash."""
        self.release_port()
        path = self.folder / "next.flash"
        path.write_bytes(contents)
        self.control("power_cycle", deadline, flash=str(path))

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        told = None if alone is None else asdict(alone)
        self.control("serve", deadline, workload=workload, settings=dict(settings), alone=told)
        self._served = True

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        try:
            output = super().run(deadline, progress)
            if self._paired and output.result is not None:
                deadline.poll(lambda: self._partner()["over"], _POLL_S, "the partner to tell its result")
        finally:
            self._served = self._paired = False  # the next run may be of a client without a network
        figures = self.control("figures", deadline)
        return RunOutput(
            output.result, output.console, [Session(**each) for each in figures["sessions"]], _sim(figures)
        )

    def take_partner(self, server: EmulatedBoard, jitter: Jitter | None, deadline: Deadline) -> Listening:
        """Make `server`, with its present flash, the partner of this board's next run, and power it up.

        Returns where it listens. Raises BoardError where it never does.
        """
        flash = self.folder / "partner.flash"
        flash.write_bytes(server._contents(deadline))
        config = replace(server.config, **({} if jitter is None else jitter.config()))
        said = self.control(
            "add_partner",
            deadline,
            board=server.definition.id,
            flash=str(flash),
            config=CONFIG.dump_json(config).decode(),
        )
        self._paired = True
        return Listening(IPv4Address(said["address"]), said["port"])

    def partner_output(self) -> RunOutput:
        """Return the output of the partner, once this board's run is over."""
        said = self._partner()
        return RunOutput(said["result"], said["console"], sim={"counters": said["stats"]})

    def _partner(self) -> dict[str, Any]:
        return self.control("partner", Deadline(_START_S, self.name))

    def attribution(
        self, timed: Sequence[Timed], result: Mapping[str, Any], deadline: Deadline
    ) -> dict[str, Any] | None:
        if not self._attribute:
            return None
        spans = [asdict(each) for each in timed]
        told = {name: result[name] for name in ("ready_us", "link_us") if name in result}
        found: dict[str, Any] | None = self.control("attribution", deadline, timed=spans, result=told)["attribution"]
        return found

    def close(self) -> None:
        super().close()
        self._stop()

    def _run_native(self, deadline: Deadline) -> None:
        """Run until the simulated server has a report, or the client has given up and gone to the boot loader."""
        self.cycle(deadline, measured=True)

        def over() -> bool:
            # With a deadline apart from the run's, at whose end this still has to find out about a report.
            if self.control("status", Deadline(_START_S, self.name))["finished"]:
                return True
            device = self.link.device()
            return device is not None and is_bootloader(device, self.definition)

        deadline.poll(over, LOOK_S / 5, "the native client's report")

    def _run_foreign(self, deadline: Deadline) -> None:
        """Run from a power cycle to the last exchange with the simulated server; `Watch` raises where none comes."""
        gap_us = max(PC_DRIVER_GAP_US, self.config.usb_request_gap_us)
        self._cycle(deadline, bootsel=False, measured=True, gap_us=gap_us)

        def over() -> bool:
            # Before `status`: an image may end its run and go to the boot loader between two looks.
            device = self.link.device()
            if self.control("status", Deadline(_START_S, self.name))["finished"]:
                return True
            if device is not None and is_bootloader(device, self.definition):
                raise BoardError(f"{self.name}: the image went to the boot loader before its run was over")
            return False

        deadline.poll(over, LOOK_S / 5, "the image to play its part")

    def _settle_volume(self, deadline: Deadline) -> None:
        self.control("sync", deadline, drive_only=True)

    def _start(self, definition: BoardDefinition, name: str, flash: Path | None) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "portbench.boards.emulated", "--board", definition.id, "--name", name]
        command += ["--config", CONFIG.dump_json(self.config).decode(), "--log", str(self._log_path)]
        command += ["--end-with", str(os.getpid())]
        if flash is not None:
            command += ["--flash", str(flash)]
        # Looking for plugins of pydantic, of which there are none, takes time at each start.
        environment = {"PYDANTIC_DISABLE_PLUGINS": "__all__", **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), environment.get("PYTHONPATH")]))
        # In a new session: Ctrl-C ends the run first, which then ends the board.
        with self._log_path.open("ab") as errors:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )

    def _has_started(self) -> bool:
        return self._alive() and read_state(self.folder) is not None

    def _alive(self) -> bool:
        """Whether the process runs. Raises BoardUnavailable with its last words once it has ended."""
        status = self._process.poll()
        if status is None:
            return True
        lines = self._log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise BoardUnavailable(f"emulated board: its process ended with status {status}: {lines[-1] if lines else ''}")

    def _look(self) -> None:
        """Raises BoardError with the reason where the wait is in vain."""
        self._alive()
        if self._watch is not None:
            self._watch()

    def _waits_for_usb(self) -> bool:
        return hasattr(self, "link") and self.link.image_has_usb

    def _stop(self) -> None:
        process = self._process
        if process.poll() is None and self._control is not None:
            with contextlib.suppress(BoardError):
                self._control.call("quit", Deadline(_STOP_S, "emulated board"))
        if self._control is not None:
            self._control.close()
            self._control = self._watch = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
        self._end()


def _end(process: subprocess.Popen[bytes], folder: Path, temporary: TemporaryFolder) -> None:
    """End the board's process, in whatever state it is, and remove its folders."""
    with deferred_interrupts():
        for end in (process.terminate, process.kill):
            if process.poll() is not None:
                break
            end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TERM_S)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.remove()


def _sim(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures as `results.model.Sim` has them."""
    stats = dict(figures["stats"])
    host_s, flash_sha256 = stats.pop("host_s"), stats.pop("flash_sha256")
    counters = {name: value for name, value in stats.items() if isinstance(value, (int, float))}
    return {"host_s": host_s, "flash_sha256": flash_sha256, "counters": counters}


class EmulatedPair:
    """Two boards on one switch: `server` is powered up, and `client` joins it when its next run begins.

    Raises BoardError where `server` never listens.
    """

    def __init__(self, client: Board, server: Board, jitter: Jitter | None, deadline: Deadline) -> None:
        assert isinstance(client, EmulatedBoard) and isinstance(server, EmulatedBoard)
        self._client = client
        said = client.take_partner(server, jitter, deadline)
        self.listening: tuple[IPv4Address, int] = (said.address, said.port)

    def served(self, timeout_s: float) -> RunOutput:
        """Return the output of the server, for which the client's run has waited in simulated time."""
        return self._client.partner_output()
