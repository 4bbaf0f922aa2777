"""The serial ports and the drive that an emulated board's USB shows on this machine, as they come and go."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portbench_engine import Machine

from portbench.boards.desk.serial_port import BOOTLOADER_BAUD, FurtherPorts, SerialPort
from portbench.boards.desk.stand_in import StandIn
from portbench.boards.desk.volume_folder import Torn, VolumeFolder, VolumeFolders

if TYPE_CHECKING:
    from portbench.boards.desk.faults import FaultInjector
    from portbench.boards.desk.process import BoardProcess

COPY_US: Final = 1_000_000.0
"""Time that the board works on a file that was copied to it."""
_TYPED_BYTES = 2048
"""Typed bytes that may wait in the board's USB pipe."""
_SYNC_INTERVAL_S = 0.05


class UsbSide:
    """The USB side of the board in `folder`. `automount`: mount a drive as soon as there is one, as a desktop does."""

    def __init__(
        self, machine: Machine, folder: Path, board: BoardProcess, faults: FaultInjector, log: Callable[[str], None]
    ) -> None:
        self._machine = machine
        self._stand_in: StandIn | None = None
        self._board = board
        self._faults = faults
        self._log = log
        self.automount = True
        self.port: SerialPort | None = None
        self.further = FurtherPorts()
        self._volumes = VolumeFolders(folder, log)
        self._last_port: str | None = None
        self._rename_port = False
        self._absent_until_s = 0.0
        self._refused: tuple[tuple[str, ...], bool] | None = None
        self._tear_per_mille: int | None = None
        self._generation = 0
        self._earlier_generations = 0
        self._next_sync_s = 0.0
        self._copied_us = -COPY_US

    def power_off(self) -> None:
        """Take the board off the bus. Afterwards the machine counts from the start again; a PC does not."""
        self._drop_ports()
        self._drop_volumes()
        self._earlier_generations += self.state["generation"]

    def power_on(self, machine: Machine) -> None:
        self._machine = machine
        self._stand_in = None
        self._generation = 0
        self._copied_us = -COPY_US

    @property
    def state(self) -> dict[str, Any]:
        """The board's USB state as the PC sees it, in the form of `Machine.usb`."""
        board = self._machine.usb()
        return board if self._stand_in is None else self._stand_in.usb(board)

    @property
    def is_stood_in(self) -> bool:
        return self._stand_in is not None

    def stand_in(self, boot_loader: StandIn) -> None:
        """Show `boot_loader` in place of the board until the next power-up."""
        self._stand_in = boot_loader
        self.changed(self.state)

    def close(self) -> None:
        if self.port is not None:
            self.port.close()
        self.further.close()

    @property
    def ports(self) -> tuple[SerialPort, ...]:
        """All serial ports, the console's first."""
        return (() if self.port is None else (self.port,)) + self.further.ports

    @property
    def volume(self) -> VolumeFolder | None:
        return self._volumes.first

    def copies(self, now_us: float) -> bool:
        """True while the board still works on a file copied to its drive."""
        return now_us < self._copied_us + COPY_US

    def seen(self) -> dict[str, Any]:
        """Return what the PC sees of the board, as `boards.registry.EmulatedState` has it."""
        usb: dict[str, Any] = {"generation": 0} if self._absent else self.state
        return {
            "generation": self._earlier_generations + usb["generation"],
            "usb_vid": usb.get("vid"),
            "usb_pid": usb.get("pid"),
            "serial_number": usb.get("serial"),
            "manufacturer": usb.get("manufacturer"),
            "product": usb.get("product"),
            "port": self.port.path if self.port else None,
            "further_ports": list(self.further.paths),
            "further_volumes": [str(folder.path) for folder in self._volumes.folders if folder is not self.volume],
            "unused": usb.get("unused", []),
            "volume": str(self.volume.path) if self.volume else None,
            "volume_label": self.volume.label if self.volume else None,
        }

    def type(self) -> None:
        """Bring the board what clients of its ports wrote, and the speed that they set."""
        if self.further.type(self._machine):
            self._board.disturbed()
        if self.port is None:
            return
        if self._machine.console_unsent < _TYPED_BYTES:
            typed = self.port.read()
            if typed:
                self._board.disturbed()
                self._machine.console_write(self._faults.typing(typed))
        if self.port is None:
            return
        if self.port.wants_boot_loader():
            self._board.disturbed()
            # What opening the port at this speed and closing it again does on a PC.
            self._machine.set_baud(BOOTLOADER_BAUD)
            self._machine.console_close()

    def show(self, data: bytes) -> None:
        """Show what the board printed."""
        if self.port is not None:
            self.port.write(data)

    def show_rest(self) -> None:
        """Show what the console's terminal has not taken yet, and what the board sent at its other ports."""
        if self.port is not None:
            self.port.flush()
        self.further.show(self._machine)

    def changed(self, usb: dict[str, Any]) -> None:
        """Follow the board, which came, went or changed on the bus; `usb` as `Machine.usb` has it."""
        if usb["generation"] != self._generation or not usb["configured"]:
            fresh = usb["configured"] and usb["generation"] != self._generation
            self._generation = usb["generation"]
            self._drop_ports()
            self._drop_volumes()
            late_ms = self._faults.enumerated() if fresh else 0
            if late_ms:
                self._be_absent(late_ms)
        self._appear(usb)

    def _appear(self, usb: dict[str, Any]) -> None:
        """Show the ports and the drive that the board has now."""
        if self._absent:
            return
        if usb["configured"] and usb["console"] and self.port is None:
            self.port = SerialPort(self._last_port if self._rename_port else None)
            self._rename_port = False
            self._last_port = self.port.path
        self.further.appear(self._machine, max(0, usb["serial_ports"] - 1))
        self._mount([usb["storage_ready"], *usb["units_ready"][1:]])
        self._board.publish()

    @property
    def _absent(self) -> bool:
        """True if a fault hides the board from the PC."""
        return time.monotonic() < self._absent_until_s

    def _be_absent(self, duration_ms: int) -> None:
        self._absent_until_s = time.monotonic() + duration_ms / 1e3
        self._board.publish()

    def come_back(self) -> None:
        """Show the board again once it has been absent for long enough."""
        if self._absent_until_s and not self._absent:
            self._absent_until_s = 0.0
            self._appear(self.state)

    def mount_now(self) -> None:
        """Mount the drive now, and from now on as soon as there is one."""
        self.automount = True
        usb = self.state
        self._mount([usb["storage_ready"], *usb["units_ready"][1:]])
        if any(usb["units_ready"]):
            self._board.publish()

    def _mount(self, ready: list[bool]) -> None:
        """Remove the drives that are not `ready`, and mount the others where a PC does."""
        before = self.volume
        if self.automount and not self._absent:
            self._volumes.mount(self._stand_in or self._machine, ready)
        else:
            self._volumes.unmount_gone(ready)
        volume = self.volume
        if volume is None and before is not None:
            self._faults.drive_gone()
        elif volume is not None and before is None:
            volume.tear_per_mille, self._tear_per_mille = self._tear_per_mille, None
            if self._refused is not None:
                volume.refuse(self._refused[0], full=self._refused[1])

    def sync(self) -> None:
        """Bring changes in the folders to the drive, a few times a second."""
        now = time.monotonic()
        folders = self._volumes.folders
        if not folders or now < self._next_sync_s:
            return
        self._next_sync_s = now + _SYNC_INTERVAL_S
        for folder in folders:
            self._copy(folder.sync)

    def sync_all(self) -> bool:
        """Do the same at once; false where there is no drive."""
        folders = self._volumes.folders
        for folder in folders:
            self._copy(folder.flush)
        return bool(folders)

    def _copy(self, bring: Callable[[], object]) -> None:
        try:
            if bring():
                self._copied_us = self._machine.time_us
        except Torn:
            self._board.lose_power()
        except OSError as error:
            # A boot loader that has its whole image goes away in the middle of the copy.
            self._log(f"the board's drive: {error}")

    def _drop_ports(self) -> None:
        self.further.close()
        if self.port is not None:
            self.port.flush()
            self.port.close()
            self.port = None

    def _drop_volumes(self) -> None:
        before = self.volume
        self._volumes.unmount_gone([])
        if before is not None:
            self._faults.drive_gone()

    # The effects of faults, see `boards.desk.faults`.

    def leave_bus(self, duration_ms: int) -> None:
        self._board.note_lost_result()
        self._drop_ports()
        self._drop_volumes()
        self._earlier_generations += 1
        self._be_absent(duration_ms)
        self.come_back()

    def refuse_files(self, names: tuple[str, ...], *, full: bool) -> None:
        self._refused = (names, full)
        if self.volume is not None:
            self.volume.refuse(names, full=full)

    def accept_files(self) -> None:
        self._refused = None
        if self.volume is not None:
            self.volume.accept()

    def tear_next_copy(self, per_mille: int) -> None:
        if self.volume is not None:
            self.volume.tear_per_mille = per_mille
        else:
            self._tear_per_mille = per_mille

    def rename_next_port(self) -> None:
        self._rename_port = True

    def disarm(self) -> None:
        """End all faults."""
        self._absent_until_s = min(self._absent_until_s, time.monotonic())
        self._tear_per_mille = None
        self._rename_port = False
        if self.volume is not None:
            self.volume.tear_per_mille = None
