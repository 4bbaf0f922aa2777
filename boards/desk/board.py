"""`DeskBoard`: a board of a desk, driven over its serial port and its drive as one that is plugged in."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Self

from portbench.boards.board import OwnNetwork, Progress, RunOutput, Unattended
from portbench.boards.definition import BoardDefinition
from portbench.boards.desk.config import CONFIG, DeskConfig
from portbench.boards.desk.control import ControlClient, Controls, Watch
from portbench.boards.desk.started import StartedDesk
from portbench.boards.timing import Deadline
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.bus import EmulatedBus, is_bootloader
from portbench.boards.usb.flash import enter_bootloader
from portbench.boards.wifi import WifiCredentials
from portbench.errors import BoardError, BoardGone, BoardUnavailable
from portbench.files import is_held
from portbench.firmware.identify import Uf2File
from portbench.where import Where
from portbench.workloads import Session

_ASK_S = 5.0
_LOOK_S = 0.1


class DeskBoard(UsbBoard):
    """A board that runs already, and is never ended; or one of our own, see `started`.

    Its control channel is asked for what a real board's cables show: its power switch, its network, and its sessions
    with the server there.
    """

    where: Where = Where.EMULATED

    def __init__(
        self,
        definition: BoardDefinition,
        *,
        device: str,
        bus: EmulatedBus | None = None,
        log: Callable[[str], None] | None = None,
        **settings: Any,
    ) -> None:
        self._desk: StartedDesk | None = None
        self._watch: Watch | None = None
        self._running = self._served = False
        super().__init__(definition, device=device, bus=bus or EmulatedBus(), log=log, watch=self._look, **settings)
        known = self.link.target.known
        try:
            if known is None or known.location is None:
                raise BoardUnavailable(f"{self.name}: no emulated board {device}")
            self.folder = Path(known.location.partition(":")[2])
            self._control = ControlClient(self.folder, self.name)
            network = self._control.call("network", Deadline(_ASK_S, self.name))
            self._watch = Watch(self._control, self.name, lambda: self.link.image_has_usb)
        except BaseException:
            super().close()
            raise
        if network["power_switch"]:
            self.link.power = self
        self._before = 0
        """Sessions of runs before this one."""
        self._exchanges = 0
        if not network["bridged"]:
            wifi = WifiCredentials(network["ssid"], network["passphrase"])
            pc, port = IPv4Address(network["pc_ip"]), network["server_port"]
            self.own_network = OwnNetwork.of_pc(pc, port, network["turnaround_us"], wifi)

    @classmethod
    def started(
        cls, definition: BoardDefinition, config: DeskConfig | None = None, *options: str, **settings: Any
    ) -> Self:
        """Start a desk with a board, which ends at `close`. `options`: further ones of the desk's process.

        `settings` as for the constructor. Raises BoardUnavailable and BrokenSetup.
        """
        told = CONFIG.dump_json(config or DeskConfig()).decode()
        desk = StartedDesk(definition.id, told, options=options)
        try:
            desk.wait()
            bus = EmulatedBus(desk.folder)
            on_bus = Deadline(_ASK_S * 6, desk.name)
            on_bus.poll(lambda: desk.state() and bus.devices(), _LOOK_S / 5, "USB to enumerate")
            board = cls(definition, device=f"usb:{desk.name}", bus=bus, name=f"emulated {definition.title}", **settings)
        except BaseException:
            desk.close()
            raise
        board._desk = desk
        return board

    @property
    def pid(self) -> int | None:
        """The board's process."""
        return None if self.link.target.known is None else self.link.target.known.provider_pid

    @property
    def controls(self) -> Controls:
        """The board's pins and UARTs."""
        return Controls(self.control, self.name)

    def control(self, op: str, deadline: Deadline, **arguments: Any) -> dict[str, Any]:
        """Ask the board's process; see `boards.desk.operations`."""
        return self._control.call(op, deadline, **arguments)

    def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
        """Switch the board off and on, see `boards.usb.link.Power`."""
        self.control("power_cycle", deadline, bootsel=bootsel, quiet=measured)
        self._before = 0

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        self._exchanges = 0 if alone is None else alone.exchanges
        told = None if alone is None else asdict(alone)
        self.control("serve", deadline, workload=workload, settings=dict(settings), alone=told)
        self._served = True

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        self._before = len(self._sessions())  # connections from now on are the image's
        super().flash(image, deadline)

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        family = None if self._deployment is None else self._deployment.family
        if not (self._started and family == "foreign"):
            self._before = len(self._sessions())
        started = family == "native" or (self._started and family == "foreign")
        self.control("expect_run", deadline, networked=self._served, started=started)
        self._running = True
        try:
            output = super().run(deadline, progress)
        finally:
            self._running = self._served = False  # the next run may be of a client without a network
            with contextlib.suppress(BoardError):
                self.control("expect_run", Deadline(_ASK_S, self.name), over=True)
        return RunOutput(output.result, output.console, self._sessions()[self._before :])

    def close(self) -> None:
        super().close()
        self._control.close()
        if self._desk is not None:
            self._desk.close()

    def _look(self) -> None:
        """Watch only the programs that this harness has put on the board: others may well stand still."""
        if self._desk is not None:
            self._desk.state()
        elif self._watch is not None and not is_held(self.folder):
            raise BoardGone(f"{self.name}: the emulated board's process ended")
        if self._watch is not None and (self._running or self.link.image_has_usb):
            self._watch()

    def _run_native(self, deadline: Deadline) -> None:
        if self.link.power is not None:
            self.cycle(deadline, measured=True)
        else:
            enter_bootloader(self.link, deadline)  # flashing has started the client: end that run before this begins
            self._before = len(self._sessions())
            super()._run_native(deadline)
        if self.own_network is not None:
            deadline.poll(self._is_over, _LOOK_S, "the native client's report")

    def _run_foreign(self, deadline: Deadline) -> None:
        super()._run_foreign(deadline)
        if self.own_network is not None:
            deadline.poll(self._has_played, _LOOK_S, "the image to play its part")

    def _has_played(self) -> bool:
        """True if the image has had all its exchanges, or its connection is over."""
        self.link.device()
        sessions = self._sessions()[self._before :]
        return any(each.exchanges >= self._exchanges or each.ended_us is not None for each in sessions)

    def _settle_volume(self, deadline: Deadline) -> None:
        self.control("sync", deadline)

    def _is_over(self) -> bool:
        """True if the client has reported, or has given up and gone to the boot loader."""
        device = self.link.device()
        ended = device is not None and is_bootloader(device, self.definition)
        return ended or any(session.report is not None for session in self._sessions()[self._before :])

    def _sessions(self) -> list[Session]:
        """With a deadline apart from the run's, at whose end this still has to find out about a report."""
        answer = self.control("sessions", Deadline(_ASK_S, self.name))
        return [Session(**each) for each in answer["sessions"]]
