"""`LabgridBoard`: a board of a labgrid lab, driven through its exported console."""

from contextlib import closing
from typing import Any

from portbench.boards.definition import BoardDefinition
from portbench.boards.labgrid.lab import Lab
from portbench.boards.remote.remote_board import RemoteBoard
from portbench.boards.timing import Deadline
from portbench.boards.usb.flash import ENTER
from portbench.boards.usb.port import PortLost
from portbench.errors import BoardError, BoardUnavailable, DeadlineExceeded
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Uf2File

PREFIX = "labgrid:"

_ENTER_S = 8.0
_BACK_S = 30.0
"""From the boot loader's end to a console that answers."""
_LOOK_S = 0.3


class LabgridBoard(RemoteBoard):
    """A board whose `device` is `labgrid:PLACE` or `labgrid:FILE.yaml`, see `boards.labgrid.lab.Lab`.

    As `RemoteBoard`; with a power driver it restarts by power, and with a USBStorageDriver it is flashed. Raises
    BoardUnavailable.
    """

    def __init__(self, definition: BoardDefinition, *, device: str, **settings: Any) -> None:
        self._lab = Lab(device.removeprefix(PREFIX))
        try:
            super().__init__(
                definition,
                device="auto",
                bus=self._lab,
                choose=lambda devices: devices[0] if devices else None,
                power=self._lab if self._lab.power is not None else None,
                name=f"{definition.title} ({device})",
                **settings,
            )
        except BaseException:
            self._lab.close()
            raise

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        """Raises BoardError unless the image runs afterwards."""
        if self._lab.storage is None:
            super().flash(image, deadline)
            return
        self.release_port()
        if self._lab.has_drive():
            self._saved = True  # the board's files cannot be read in the boot loader
        self._save_files(deadline)
        self._deployment = None
        self._enter_boot_loader(deadline)
        self.link.log(f"flash: {image.path.name} by labgrid's USBStorageDriver")
        try:
            self._lab.copy_to_drive(str(image.path))
        except BoardUnavailable as error:
            self.link.log(f"flash: {error}")  # whether the image has arrived shows in what the board does next
        deadline.poll(lambda: not self._lab.has_drive(), _LOOK_S, f"{self.name} to start {image.path.name}")
        if image.identity.family is not Family.NATIVE:
            self._check_runs(image, deadline)
        self._image = image

    def close(self) -> None:
        super().close()
        self._lab.close()

    def _check_runs(self, image: Uf2File, deadline: Deadline) -> None:
        """Once the console is back, through as many connections as that takes."""
        back = deadline.part(_BACK_S, f"{self.name}: {image.path.name}")
        while True:
            try:
                super().flash(image, deadline)
                return
            except (PortLost, BoardUnavailable) as error:
                if back.expired:
                    raise
                self.link.log(f"flash: {error}; connecting again")

    def _enter_boot_loader(self, deadline: Deadline) -> None:
        if self._lab.has_drive():
            return
        try:
            part = deadline.part(_ENTER_S, f"{self.name}: boot loader by REPL")
            with closing(self.link.open_repl(part)) as repl:
                repl.execute_and_lose(ENTER, part)
        except DeadlineExceeded:
            deadline.check(f"{self.name} to restart")  # some servers keep the connection when the port goes
        except BoardError as error:
            self.link.log(f"boot loader: REPL: {error}")
        part = deadline.part(_ENTER_S, f"{self.name}: boot loader")
        try:
            part.poll(self._lab.has_drive, _LOOK_S, f"{self.name} to show its boot loader")
        except DeadlineExceeded:
            if self._lab.power is None:
                raise
            self._lab.cycle(deadline, bootsel=True)
            deadline.poll(self._lab.has_drive, _LOOK_S, f"{self.name} to show its boot loader")
