"""labgrid drivers for a board that is neither a block device nor on a switched hub."""

import shutil
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any, ClassVar

import attr
from labgrid.driver import USBStorageDriver
from labgrid.driver.common import Driver
from labgrid.factory import target_factory
from labgrid.protocol import DigitalOutputProtocol, PowerProtocol

from tests.boards.labgrid import hand


@target_factory.reg_driver
@attr.s(eq=False)
class FolderStorageDriver(USBStorageDriver):
    """The drive is a folder, while it is there."""

    bindings: ClassVar[dict[str, Any]] = {}

    def __attrs_post_init__(self) -> None:
        Driver.__attrs_post_init__(self)

    @property
    def storage(self) -> SimpleNamespace:
        return SimpleNamespace(avail=Path(hand.drive(), "INFO_UF2.TXT").exists())

    def on_deactivate(self) -> None:
        pass

    def write_files(
        self, sources: list[str], target: PurePath, partition: int | None, target_is_directory: bool = True
    ) -> None:
        assert partition == 1 and not target_is_directory
        shutil.copyfile(sources[0], Path(hand.drive()) / target)


@target_factory.reg_driver
@attr.s(eq=False)
class HandPowerDriver(Driver, PowerProtocol):
    def on(self) -> None:
        raise NotImplementedError

    def off(self) -> None:
        raise NotImplementedError

    @Driver.check_active
    def cycle(self) -> None:
        hand.power_cycle()


@target_factory.reg_driver
@attr.s(eq=False)
class HandButtonDriver(Driver, DigitalOutputProtocol):
    def get(self) -> bool:
        return hand.button[-1]

    @Driver.check_active
    def set(self, status: bool) -> None:
        hand.button.append(status)
