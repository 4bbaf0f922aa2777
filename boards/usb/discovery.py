"""The boards that are attached, and their states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from portbench.boards.board import RuntimeIdentity
from portbench.boards.definition import BoardDefinition, known_boards
from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import Buses, UsbBus, UsbDevice, is_bootloader, is_known
from portbench.boards.usb.emulated_bus import EmulatedBus
from portbench.boards.usb.identify import identify
from portbench.boards.usb.port import open_port
from portbench.boards.usb.repl import Repl
from portbench.boards.usb.system_bus import SystemBus
from portbench.boards.usb.volume_info import read_volume_info
from portbench.console import shown
from portbench.errors import BoardError, BoardUnavailable

State = Literal["console", "bootloader", "busy", "no permission", "silent"]

_ASK_S = 5.0


@dataclass(frozen=True)
class AttachedBoard:
    """One attached board. `runtime`, `version` and `board_id` are empty where nothing tells.

    `state`: `console` (a prompt or drive answers), `bootloader`, `busy` (another program has its port),
    `no permission`, `silent` (the console does not answer). `advice`: what to do about it, empty where all is well.
    """

    device: UsbDevice
    state: State
    runtime: str = ""
    version: str = ""
    board_id: str = ""
    machine: str = ""
    advice: str = ""

    @property
    def selector(self) -> str:
        """How to name this board to --device: so that the name holds when the board becomes another USB device.

        All emulated boards have one flash chip's serial number.
        """
        serial, place = self.device.own_serial, self.device.place
        if serial and not self.device.emulated:
            return f"id:{serial}"
        return f"usb:{place}" if place else f"port:{self.device.port}" if self.device.port else "auto"

    def line(self) -> str:
        """For people."""
        device = self.device
        words = [
            self.selector,
            str(device.usb_id or "-"),
            f"{self.runtime} {self.version}".strip() or "-",
            self.board_id or self.machine or "-",
            device.port or "-",
            str(device.volume or device.block_device or "-"),
            self.state + (" (emulated)" if device.emulated else ""),
        ]
        return shown("  ".join(words) + (f"  {self.advice}" if self.advice else ""))


def attached(definition: BoardDefinition) -> list[UsbDevice]:
    """Real devices whose USB ids this kind of board uses. Opens nothing."""
    return [device for device in SystemBus().devices() if is_known(device, definition)]


def listing(bus: UsbBus | None = None, *, ask: bool = True, ask_s: float = _ASK_S) -> list[AttachedBoard]:
    """All attached boards of the kinds we know, real and emulated.

    `ask`: interrupt what runs on a board and ask its REPL where its drive does not tell what it is. Never raises for a
    board that cannot be asked.
    """
    devices = (bus or Buses(SystemBus(), EmulatedBus())).devices()
    kinds = known_boards().values()
    return [
        _look_at(device, ask, ask_s) for device in devices if any(is_known(device, definition) for definition in kinds)
    ]


def attached_selectors() -> list[str]:
    """How to name each attached board of the kinds we know, real and emulated. Opens nothing."""
    kinds = known_boards().values()
    devices = Buses(SystemBus(), EmulatedBus()).devices()
    known = (device for device in devices if any(is_known(device, definition) for definition in kinds))
    return [AttachedBoard(device, "console").selector for device in known]


def _look_at(device: UsbDevice, ask: bool, ask_s: float) -> AttachedBoard:
    info = read_volume_info(device.volume) if device.volume is not None else None
    if any(is_bootloader(device, definition) for definition in known_boards().values()):
        version = (info.version if info else None) or ""
        board_id = info.board_id if info else ""
        advice = "" if device.volume else "its drive is not mounted"
        return AttachedBoard(device, "bootloader", "UF2 boot loader", version, board_id, advice=advice)
    if device.port is None:
        if info is None:
            return AttachedBoard(device, "silent", advice="it has neither a serial port nor a drive that can be read")
        return AttachedBoard(
            device, "console", info.kind, info.version or "", info.board_id, info.machine or "", "it has no serial port"
        )
    deadline = Deadline(ask_s, device.port)
    try:
        port = open_port(device.port, device.port, deadline, provider_pid=device.provider_pid, settle_s=0.001)
    except BoardUnavailable as error:
        state: State = "no permission" if "no permission" in str(error) else "busy"
        advice = str(error)
        if info is None:
            return AttachedBoard(device, state, advice=advice)
        return AttachedBoard(device, state, info.kind, info.version or "", info.board_id, info.machine or "", advice)
    repl = Repl(port, device.port)
    try:
        if info is not None:
            return AttachedBoard(device, "console", info.kind, info.version or "", info.board_id, info.machine or "")
        if not ask:
            return AttachedBoard(device, "console")
        found: RuntimeIdentity = identify(repl, deadline)
        repl.leave(deadline)
    except BoardError as error:
        return AttachedBoard(device, "silent", advice=str(error))
    finally:
        repl.close()
    return AttachedBoard(device, "console", found.family, found.version, found.board_id, found.machine)
