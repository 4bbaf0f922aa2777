"""USB drives as Linux's /sys tells them: which node belongs to which device at which place on the bus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SYSFS = Path("/sys")


@dataclass(frozen=True)
class Drive:
    """A USB device with a drive. `nodes`: partitions first. `location` as pyserial writes it (`1-1.2`)."""

    nodes: tuple[str, ...]
    location: str
    enumeration: str
    vid: int
    pid: int
    serial_number: str | None
    manufacturer: str | None
    product: str | None


def usb_drives(sysfs: Path = SYSFS) -> list[Drive]:
    """All USB drives, mounted or not; none where there is no /sys."""
    found = []
    for device in sorted((sysfs / "bus/usb/devices").glob("*-*")):
        if ":" in device.name:
            continue
        blocks = sorted(device.glob("*/host*/target*/*/block/*"))
        if not blocks:
            continue
        partitions = [path.name for block in blocks for path in sorted(block.glob(f"{block.name}*"))]
        try:
            vid, pid = (int(_text(device, name) or "", 16) for name in ("idVendor", "idProduct"))
        except ValueError:
            continue  # unplugged while we looked
        found.append(
            Drive(
                nodes=tuple(f"/dev/{name}" for name in [*partitions, *(block.name for block in blocks)]),
                location=device.name,
                enumeration=_enumeration(device),
                vid=vid,
                pid=pid,
                serial_number=_text(device, "serial"),
                manufacturer=_text(device, "manufacturer"),
                product=_text(device, "product"),
            )
        )
    return found


def enumeration_of(sysfs: Path, location: str) -> str | None:
    """Return bus and device number of the device at `location`; None without /sys."""
    device = sysfs / "bus/usb/devices" / location
    return _enumeration(device) if device.exists() else None


def _enumeration(device: Path) -> str:
    return f"{_text(device, 'busnum')}:{_text(device, 'devnum')}"


def _text(device: Path, name: str) -> str | None:
    try:
        return (device / name).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
