"""A board that stays, as `portbench desk` keeps one: the harness does not end it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.boards.desk.control import ControlClient
from portbench.boards.desk.started import StartedDesk

NAME: Final = "desk"
DEVICE: Final = f"usb:{NAME}"
_START_S = 60.0
_LOOK_S = 0.02


class Desk:
    """The board starts when it is first needed, and again after a kill. `power_switch`: runs begin by its power, else
    by its own command, as on a USB cable."""

    def __init__(self, definition: BoardDefinition, log: Path, *, power_switch: bool) -> None:
        self._definition = definition
        self._config = json.dumps({"power_switch": power_switch})
        self._log = log
        self._started: StartedDesk | None = None

    @property
    def runs(self) -> bool:
        return self._started is not None and self._started.runs

    def start(self) -> None:
        """Start the board, and wait until it is on the bus. Raises BoardError."""
        if self.runs:
            return
        self.end()
        started = self._started = StartedDesk(self._definition.id, self._config, NAME, log=self._log)

        def there() -> bool:
            state = started.state()
            return state is not None and state.usb_vid is not None

        Deadline(_START_S, NAME).poll(there, _LOOK_S, "its process to start")

    def hold_bootsel(self) -> None:
        """Plug the board in again with BOOTSEL held, as a person does with a board that does not answer."""
        assert self._started is not None
        try:
            with contextlib.closing(ControlClient(self._started.folder, NAME)) as control:
                control.call("power_cycle", Deadline(_START_S, NAME), bootsel=True)
        except BoardError:
            if not self._started.ended():  # a process that was killed may take a moment to go
                raise

    def sweep(self) -> None:
        """Remove the leftovers of a killed board, as the next start of a desk does. Raises BoardError."""
        if self._started is not None and not self.runs:
            self.start()

    def end(self) -> None:
        if self._started is not None:
            self._started.close()
            self._started = None
