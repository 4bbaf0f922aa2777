"""Emulated boards as plugged-in USB devices: the registry of running ones is their bus."""

from __future__ import annotations

from pathlib import Path

from portbench.boards.definition import BoardDefinition
from portbench.boards.registry import EmulatedState, read_state, running
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.selection import parse_selector, select
from portbench.errors import BoardUnavailable, BrokenSetup

_SCHEME = "emulated:"


class EmulatedBus:
    """All running emulated boards, or only the one in `folder`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def devices(self) -> list[UsbDevice]:
        if self._folder is None:
            try:
                return [_device(folder, state) for folder, state in running() if state.usb_vid is not None]
            except BrokenSetup:
                return []
        state = read_state(self._folder)
        return [_device(self._folder, state)] if state is not None and state.usb_vid is not None else []


def is_emulated(device: str, definition: BoardDefinition) -> bool:
    """Whether `device`, as `--device` names boards, means a running emulated board; by its name also while it is off
    the bus."""
    try:
        selector = parse_selector(device)
        boards = running()
        if selector.kind == "usb":
            return any(selector.value in (folder.name, f"{_SCHEME}{folder}") for folder, _ in boards)
        select([_device(folder, state) for folder, state in boards], selector, definition)
    except (BoardUnavailable, BrokenSetup):
        return False
    return True


def _device(folder: Path, state: EmulatedState) -> UsbDevice:
    return UsbDevice(
        serial_number=state.serial_number,
        vid=state.usb_vid,
        pid=state.usb_pid,
        manufacturer=state.manufacturer,
        product=state.product,
        port=state.port,
        volume=Path(state.volume) if state.volume else None,
        volume_label=state.volume_label,
        location=f"{_SCHEME}{folder}",
        enumeration=str(state.generation),
        emulated=True,
        provider_pid=state.pid,
    )
