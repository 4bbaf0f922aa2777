"""`AvrdudeBoard`: a board with an ATmega behind a USB bridge. avrdude programs it, which restarts it."""

import shutil
from typing import Any

from portbench.boards.definition import BoardDefinition
from portbench.boards.timing import Deadline
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.link import run_program
from portbench.errors import BoardError, BoardUnavailable
from portbench.firmware.identify import Uf2File

_PROGRAM = "avrdude"


class AvrdudeBoard(UsbBoard):
    """A `UsbBoard` for images in Intel HEX or ELF. Raises BoardUnavailable, also where avrdude is not installed."""

    def __init__(self, definition: BoardDefinition, **options: Any) -> None:
        if shutil.which(_PROGRAM) is None:
            raise BoardUnavailable(
                f"{definition.title}: {_PROGRAM}, which programs it, is not installed;"
                " install it: apt-get install avrdude"
            )
        super().__init__(definition, **{**options, "save_files_to": None})

    def _program(self, image: Uf2File, deadline: Deadline) -> None:
        avr, port = self.definition.avr, self.link.wait_port(deadline).port
        assert avr is not None and port is not None
        if image.content is not None:
            raise BoardError(f"{self.name}: {image.path.name} is a UF2 file; use Intel HEX or ELF")
        command = [_PROGRAM, "-q", "-p", self.definition.mcu.lower(), "-c", avr.programmer, "-P", port]
        # -D: the boot loader erases each page itself. The format is found by the file's content.
        command += ["-b", str(avr.baud), "-D", "-U", f"flash:w:{image.path}:a"]
        done = run_program(command, deadline, f"{_PROGRAM} to program {image.path.name}")
        if done.returncode:
            said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()] or ["it says nothing"]
            raise BoardError(f"{self.name}: {_PROGRAM} cannot program {image.path.name}: {said[0].strip()}")
        self.link.log(f"flash: {image.path.name} by {_PROGRAM}")

    def reset(self, deadline: Deadline) -> None:
        self._flash_again(deadline)
