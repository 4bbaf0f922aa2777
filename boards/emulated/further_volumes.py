"""Logical units that a board's drive has beyond the first, such as a card in a reader: a folder for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from portbench.boards.emulated.volume_folder import VolumeFolder


class LogicalUnits(Protocol):
    """What the folders need of `portbench._engine.Machine`."""

    def volume_list(self, lun: int = 0) -> list[tuple[str, bool, int]]: ...
    def volume_label(self, lun: int = 0) -> str: ...
    def volume_read(self, paths: list[str], lun: int = 0) -> list[bytes]: ...
    def volume_apply(self, changes: list[tuple[str, str, bytes]], lun: int = 0) -> None: ...


class LogicalUnit:
    """One of them as `volume_folder.Drive`."""

    def __init__(self, machine: LogicalUnits, lun: int) -> None:
        self._machine = machine
        self._lun = lun

    def volume_list(self) -> list[tuple[str, bool, int]]:
        return self._machine.volume_list(self._lun)

    def volume_label(self) -> str:
        return self._machine.volume_label(self._lun)

    def volume_read(self, paths: list[str]) -> list[bytes]:
        return self._machine.volume_read(paths, self._lun)

    def volume_apply(self, changes: list[tuple[str, str, bytes]]) -> None:
        self._machine.volume_apply(changes, self._lun)


class FurtherVolumes:
    """They come and go with their media. `parent` is where the board's folders are."""

    def __init__(self, parent: Path, log: Callable[[str], None]) -> None:
        self._parent = parent
        self._log = log
        self._folders: dict[int, VolumeFolder] = {}

    @property
    def folders(self) -> tuple[VolumeFolder, ...]:
        return tuple(folder for _, folder in sorted(self._folders.items()))

    def mount(self, machine: LogicalUnits, ready: list[bool], taken: set[str]) -> None:
        """Those that are `ready`, by logical unit, the first among them; the others go. `taken`: names of folders that
        are not to be had."""
        for lun, is_ready in enumerate(ready):
            if lun == 0 or not is_ready or lun in self._folders:
                continue
            names = taken | {folder.path.name for folder in self._folders.values()}
            try:
                self._folders[lun] = VolumeFolder(LogicalUnit(machine, lun), self._parent, self._log, names)
            except OSError as error:
                self._log(f"logical unit {lun} of the board's drive cannot be mounted: {error}")
        self.unmount_gone(ready)

    def unmount_gone(self, ready: list[bool]) -> None:
        for lun in [lun for lun in self._folders if lun >= len(ready) or not ready[lun]]:
            self._folders.pop(lun).remove()
