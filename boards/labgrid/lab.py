"""The few things that portbench asks of labgrid, with labgrid's errors as BoardErrors."""

import asyncio
import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import UsbDevice
from portbench.errors import BoardError, BoardUnavailable
from portbench.install import with_extra

DEFAULT_TARGET = "main"
_PARTITION = 1  # the boot loader's drive has a partition table with one entry (RP2040 datasheet section 2.8.4)
_BOOTSEL_NAME = "bootsel"
_ANSWER_S = 30
_environments: dict[str, Any] = {}
"""By file: labgrid refuses to import an environment's own drivers twice."""


class Lab:
    """One labgrid target: its console, and its power, BOOTSEL and mass storage where it has drivers for them.

    `where`: the name of a place that this user has acquired, or an environment file (`.yaml`), with `#TARGET` where the
    target is not called main. The coordinator is the file's, else that of LG_COORDINATOR. Raises BoardUnavailable.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._target = self._open(where)
        with _labgrid(where):
            self._port: Any = self._target.get_resource("NetworkSerialPort", wait_avail=False)
        self.power = self._driver("PowerProtocol")
        self.bootsel = self._driver("DigitalOutputProtocol", _BOOTSEL_NAME)
        self.storage = self._driver("USBStorageDriver")

    def devices(self) -> list[UsbDevice]:
        """The console as the exporter offers it now; its TCP port changes when the board's USB port does."""
        try:
            with _labgrid(self.where):
                self._target.update_resources()
                if not self._port.avail or not self._port.port:
                    return [UsbDevice(location=f"labgrid:{self.where}")]
                host, port = _module("labgrid.util.proxy").proxymanager.get_host_and_port(self._port)
        except BoardUnavailable:
            return []
        scheme = "socket" if self._port.protocol == "raw" else "rfc2217"
        return [UsbDevice(port=f"{scheme}://{host}:{port}", location=f"labgrid:{self.where}")]

    def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
        """Power off and on; see `boards.usb.link.Power`. Labgrid's driver decides how long that takes."""
        deadline.check(f"{self.where}: power")
        if bootsel and self.bootsel is None:
            raise BoardError(f"{self.where}: labgrid has no DigitalOutput driver named {_BOOTSEL_NAME} for it")
        with _labgrid(self.where):
            self._target.activate(self.power)
            if not bootsel:
                self.power.cycle()
                return
            self._target.activate(self.bootsel)
            self.bootsel.set(True)
            try:
                self.power.cycle()
            finally:
                self.bootsel.set(False)

    def has_drive(self) -> bool:
        """True if the boot loader's drive is there."""
        with _labgrid(self.where):
            self._target.update_resources()
            return bool(self.storage.storage.avail)

    def copy_to_drive(self, image: str) -> None:
        """Copy a UF2 file to the drive. The drive may go away before labgrid has unmounted it, which it then reports as
        BoardUnavailable."""
        with _labgrid(self.where):
            self._target.activate(self.storage)
            try:
                self.storage.write_files([image], PurePosixPath("firmware.uf2"), _PARTITION, target_is_directory=False)
            finally:
                self._target.deactivate(self.storage)

    def close(self) -> None:
        """Releases labgrid's drivers; the place stays acquired."""
        with _labgrid(self.where):
            self._target.deactivate_all_drivers()

    def _open(self, where: str) -> Any:
        file, _, target = where.partition("#")
        with _labgrid(where):
            _refresh()
            if file.endswith((".yaml", ".yml")):
                if file not in _environments:
                    _environments[file] = _module("labgrid").Environment(file)
                found = _environments[file].get_target(target or DEFAULT_TARGET)
                if found is None:
                    raise BoardUnavailable(f"{file}: has no target {target or DEFAULT_TARGET}; name one with #TARGET")
                return found
            found = _module("labgrid").Target(DEFAULT_TARGET)
            _module("labgrid.resource").RemotePlace(found, name=where)
            return found

    def _driver(self, kind: str, name: str | None = None) -> Any:
        missing = _module("labgrid.exceptions").NoDriverFoundError
        module = "labgrid.protocol" if kind.endswith("Protocol") else "labgrid.driver"
        with _labgrid(self.where):
            try:
                cls = getattr(_module(module), kind)
                return self._target.get_driver(cls, name=name, activate=False)
            except missing:
                return None


def _refresh() -> None:
    """Ask labgrid, which hears of changes only while it is asked, who has acquired which place. A session whose
    coordinator has gone is dropped, so that labgrid connects again."""
    # labgrid keeps a loop, but gRPC takes the thread's, and asyncio.run leaves none.
    asyncio.set_event_loop(_module("labgrid.remote.client").ensure_event_loop())
    manager = _module("labgrid.resource.remote").RemotePlaceManager.get()
    session = manager.session
    if session is None:
        return
    try:
        # Without `stopping`, labgrid waits for ever for the answer of a coordinator that went before.
        answered = not session.stopping.is_set() and manager.loop.run_until_complete(
            asyncio.wait_for(session.sync_with_coordinator(), _ANSWER_S)
        )
    except TimeoutError:
        raise BoardUnavailable(f"labgrid's coordinator did not answer in {_ANSWER_S} s; start it again") from None
    if not answered:
        manager.session = None


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BoardUnavailable(f"labgrid is not installed ({error}); run: {with_extra('labgrid')}") from error


@contextmanager
def _labgrid(where: str) -> Iterator[None]:
    """labgrid's errors have no common base, and its drivers pass on those of the programs that they call. It also logs
    some, which Python would print."""
    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)
    try:
        yield
    except BoardError:
        raise
    except Exception as error:
        said = " ".join(str(error).split()).removeprefix("Error: ") or type(error).__name__
        fix = f"; run: labgrid-client -p {where} acquire" if "is not acquired" in said else ""
        if "connect to coordinator" in said:
            fix = "; start it, or name another: LG_COORDINATOR=HOST:PORT"
        raise BoardUnavailable(f"labgrid:{where}: {said}{fix}") from error
    finally:
        root.removeHandler(quiet)
