"""`UsbBoard`: a board on USB, real or emulated, by one and the same path."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from portbench.boards.board import Board, Deployment, Progress, RunOutput, RuntimeIdentity
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.deploy import check_digests, deploy_mpremote
from portbench.boards.repl import Repl, identify
from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import (
    Buses,
    EmulatedBus,
    RemoteBus,
    Selector,
    Target,
    UsbBus,
    UsbDevice,
    is_bootloader,
    parse_selector,
    select,
)
from portbench.boards.usb.discovery import SystemBus
from portbench.boards.usb.files import deploy_circuitpython, deploy_rshell, save_files
from portbench.boards.usb.flash import flash
from portbench.boards.usb.link import LOG, BoardLock, Link, Power
from portbench.boards.usb.run import answers, recover, restart, run
from portbench.errors import BoardError, BoardUnavailable
from portbench.firmware import without_spaces
from portbench.firmware.identify import Uf2File
from portbench.where import Where

Deployer = Literal["mpremote", "rshell"]
DEPLOYERS: Final[Mapping[Deployer, Callable[[Repl, Mapping[str, bytes], Deadline], None]]] = {
    "mpremote": deploy_mpremote,
    "rshell": deploy_rshell,
}
"""Ways to copy files to MicroPython. A deployer may close the session; the board then opens a new one."""

_ASK_S = 20.0
_SAVE_S = 60.0
_FIRST_CONSOLE_SHARE = 0.5
"""Part of a console's deadline after which waiting ends and the recovery ladder begins."""


def default_bus(selector: Selector) -> UsbBus:
    """This PC's USB and the emulated boards that run on it; for a URL, the port that it names."""
    if selector.kind == "url":
        return RemoteBus(selector.value)
    return Buses(SystemBus(), EmulatedBus())


class UsbBoard(Board):
    """One board, held from construction to `close`, so that no other process drives it.

    `device`: which one, see `boards.usb.bus`; `bus` and `choose`: where to look for it instead. `deployer`: how
    files get to MicroPython. `power`: control of the board's power, where there is one. `watch`: called while waiting;
    may raise what it knows of the board. `save_files_to`: where the user's own files are copied before the first flash
    or deployment (None: not, for boards without a user). `ask_bootsel`: called each second with the seconds left, while
    a person is to press BOOTSEL. `log`: one line per step. Raises BoardUnavailable.
    """

    where: Where = Where.SILICON

    def __init__(
        self,
        definition: BoardDefinition,
        *,
        device: str = "auto",
        deployer: Deployer = "mpremote",
        bus: UsbBus | None = None,
        choose: Callable[[list[UsbDevice]], UsbDevice | None] | None = None,
        power: Power | None = None,
        watch: Callable[[], None] | None = None,
        save_files_to: Path | None = None,
        ask_bootsel: Callable[[float], None] | None = None,
        log: Callable[[str], None] | None = None,
        name: str | None = None,
        poll_s: float = 0.1,
    ) -> None:
        selector = parse_selector(device)
        self.definition = definition
        self._deployer = deployer
        self._save_files_to = save_files_to
        self._repl: Repl | None = None
        self._repl_device: UsbDevice | None = None
        self._console = Console()
        self._image: Uf2File | None = None
        self._started = False
        """The image that was flashed last has started, and no run has been of it yet."""
        self._deployment: Deployment | None = None
        self._saved = save_files_to is None
        # A board that the user named is used in any case, unlike one that only has the right USB id.
        self._kind_known = selector.kind != "auto" or choose is not None
        self.saved_files: Path | None = None
        """Copy of the user's files, once there is one."""
        target = Target(bus or default_bus(selector), choose or (lambda devices: select(devices, selector, definition)))
        self.link = Link(
            definition,
            name or definition.title,
            target,
            power=power,
            watch=watch,
            ask_bootsel=ask_bootsel,
            poll_s=poll_s,
            log=log or LOG.info,
        )
        self.name = self.link.name
        self._lock: BoardLock | None = None
        found = self.link.device()
        if found is None:
            raise BoardUnavailable(f"{self.name}: not plugged in")
        if name is None:
            self.name = self.link.name = f"{definition.title} ({found.own_serial or found.location or found.port})"
        if found.emulated:
            self.where = Where.EMULATED
        self._lock = BoardLock(found, self.name)

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        self._check_kind(deadline)
        self._save_files(deadline)
        self.release_port()
        self._deployment = None
        self._program(image, deadline)
        self._image = image
        self._started = True

    def wait_console(self, deadline: Deadline) -> None:
        self.release_port()
        first = deadline.part(deadline.seconds * _FIRST_CONSOLE_SHARE, f"{self.name}: console")
        try:
            answers(self.link, first)
        except BoardUnavailable:
            raise
        except BoardError as error:
            self.link.log(f"console: {error}")
            deadline.check(f"{self.name}'s console to answer")
            recover(self.link, self._image, deadline)

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        return identify(self._session(deadline), deadline)

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        if deployment.in_image:
            self._deployment = deployment
            return
        self._check_kind(deadline)
        self._save_files(deadline)
        self._deployment = None
        if deployment.family == "circuitpython":
            deploy_circuitpython(self.link, self._session(deadline), deployment.files, deadline, self._settle_volume)
        else:
            DEPLOYERS[self._deployer](self._session(deadline), deployment.files, deadline)
            check_digests(self._session(deadline), deployment.files, deadline)
        self._session(deadline).leave(deadline)
        self.release_port()
        self._deployment = deployment

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if self._deployment is None:
            raise BoardError(f"{self.name}: nothing was deployed to run")
        self.release_port()
        self._console = Console(progress)
        if self._deployment.family == "native":
            self._run_native(deadline)
        elif self._deployment.family == "foreign":
            self._run_foreign(deadline)
            self._started = False
        else:
            self._run_client(deadline)
        return RunOutput(result=self._console.result, console=list(self._console.lines))

    def reset(self, deadline: Deadline) -> None:
        self.release_port()
        restart(self.link, deadline)

    def console_tail(self, n: int = 20) -> list[str]:
        return self._console.tail(n)

    def close(self) -> None:
        self.release_port()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _run_client(self, deadline: Deadline) -> None:
        """Restart into the client and read its result."""
        run(self.link, self._console, deadline)

    def _run_native(self, deadline: Deadline) -> None:
        """The native client ends in the boot loader."""
        self._flash_again(deadline)

    def _run_foreign(self, deadline: Deadline) -> None:
        if not self._started:
            self._flash_again(deadline)

    def _flash_again(self, deadline: Deadline) -> None:
        """Program the image again, which restarts every image."""
        if self._image is None:
            raise BoardError(f"{self.name}: the image to run has not been flashed")
        self._program(self._image, deadline)

    def _program(self, image: Uf2File, deadline: Deadline) -> None:
        """Program the image and start it."""
        flash(self.link, image, deadline)

    def _settle_volume(self, deadline: Deadline) -> None:
        """A real drive has the files once the system's flush returns."""

    def _check_kind(self, deadline: Deadline) -> None:
        """Once, before anything is written: all RP2 boards with MicroPython have the same USB id.

        In the boot loader nothing tells them apart, but the user has just pressed this one's button.
        """
        device = self.link.device()
        if self._kind_known or device is None or device.usb_id != self.definition.usb.micropython:
            return
        part = deadline.part(_ASK_S, f"{self.name}: asking what it is")
        instead = f"to use it anyway: --device {'id:' + device.own_serial if device.own_serial else 'port:PATH'}"
        try:
            found = identify(self._session(part), part)
        except BoardUnavailable:
            raise
        except BoardError as error:
            raise BoardUnavailable(f"{self.name}: does not say what board it is: {error}; {instead}") from error
        definition = self.definition
        named = without_spaces(definition.machine) in without_spaces(found.machine)
        # Raspberry Pi Pico is in Raspberry Pi Pico2, too.
        if not named or definition.mcu.lower() not in found.machine.lower():
            raise BoardUnavailable(f"{self.name}: is a {found.machine}, not a {self.definition.machine}; {instead}")
        self._kind_known = True

    def _save_files(self, deadline: Deadline) -> None:
        """Once, before anything could overwrite them; a board whose files cannot be read is not written to."""
        if self._saved or self._save_files_to is None:
            return
        device = self.link.device()
        if device is None or is_bootloader(device, self.definition):
            self.link.log("files: the board's files cannot be read in the boot loader; none were saved")
            self._saved = True
            return
        folder = self._save_files_to / (device.own_serial or "board")
        part = deadline.part(_SAVE_S, f"{self.name}: saving the user's files")
        try:
            self.saved_files = save_files(self._session(part), folder, part)
        except BoardUnavailable:
            raise
        except BoardError as error:
            raise BoardError(
                f"{self.name}: its files cannot be saved, so nothing was written: {error};"
                " to go on without them, hold BOOTSEL while plugging the board in"
            ) from error
        self._saved = True
        self.link.log(f"files: saved to {self.saved_files}" if self.saved_files else "files: none to save")

    def _session(self, deadline: Deadline) -> Repl:
        """The open REPL session; a new one if it was closed or the board has enumerated again."""
        device = self.link.device()
        known = self._repl_device
        if self._repl is not None and (
            not self._repl.wire.is_open
            or device is None
            or known is None
            or (device.port, device.enumeration) != (known.port, known.enumeration)
        ):
            self.release_port()
        if self._repl is None:
            self._repl = self.link.open_repl(deadline)
            self._repl_device = self.link.target.known
        return self._repl

    def release_port(self) -> None:
        """Free the serial port for other programs."""
        repl, self._repl, self._repl_device = self._repl, None, None
        if repl is not None:
            repl.close()
