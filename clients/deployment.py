"""The files of a client on its board: script, parameters (portbench_config.json) and libraries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass as checked

from portbench.boards import BoardDefinition, Deployment, Ethernet, WifiCredentials
from portbench.clients.assembly import assemble, fold
from portbench.clients.dialects import adapted
from portbench.clients.families import FAMILIES
from portbench.clients.libraries import NEWEST_MAJOR, driver_files, library_files
from portbench.clients.own_libraries import OwnLibrary, with_own
from portbench.errors import PortbenchError
from portbench.firmware.native_config import StaticAddress
from portbench.signals import deferred_interrupts
from portbench.workloads import Readiness, Workload, WorkloadSettings

CONFIG_NAME: Final = "portbench_config.json"
_SERVES_USB_MAJOR: Final = 9
"""The first CircuitPython that serves USB while it compiles."""

AddressMode = Literal["dhcp", "static"]


@checked(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class ClientNetwork:
    """Network settings of a client: the PC's server at `port`, or without a `server` the `port` it listens on. Raises
    pydantic's ValidationError for settings that no client could use.

    `spi_hz` None: the board's or the driver's default. `intn`: use the INTn pin where the firmware can. `server` is an
    address, since the clients do not look up names. `wifi`: the network that a board with a radio chip joins, in place
    of `spi_hz` and `intn`. `power_save` None: the firmware's setting.
    """

    server: IPv4Address | None
    port: Annotated[int, Field(ge=1, le=65535)]
    address_mode: AddressMode = "dhcp"
    static: StaticAddress | None = None
    spi_hz: Annotated[int, Field(ge=1)] | None = None
    intn: bool = True
    ready_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 30.0
    wifi: WifiCredentials | None = None
    power_save: bool | None = None

    @model_validator(mode="after")
    def _check_address(self) -> ClientNetwork:
        if self.address_mode == "static" and self.static is None:
            raise ValueError("address mode static needs an address")
        return self


def _nic(network: ClientNetwork) -> dict[str, Any]:
    if network.wifi is None:
        return {"spi_hz": network.spi_hz, "intn": network.intn}
    wifi = network.wifi
    join = {"ssid": wifi.ssid, "passphrase": wifi.passphrase, "power_save": network.power_save}
    return {"spi_hz": None, **join}


def config_json(settings: WorkloadSettings, network: ClientNetwork | None) -> bytes:
    """The file's content: the workload's settings, with `network` around them where the client needs it."""
    values: dict[str, Any] = settings.model_dump(mode="json")
    if network is not None:
        limit_s = network.ready_timeout_s
        values = {
            **({"server": str(network.server)} if network.server else {}),
            "port": network.port,
            **values,
            "address_mode": network.address_mode,
            "static": network.static.as_list() if network.static else None,
            **_nic(network),
            "ready_timeout_s": int(limit_s) if limit_s.is_integer() else limit_s,
        }
    return json.dumps(values).encode()


_LIBRARIES_FIRST: Final = 'import sys\n\nsys.path.insert(0, "/lib")\n'
_CLOCK_BEGINS: Final = "BOOTED_NS = time.monotonic_ns()\n"
_AFTER_USB: Final = """for _ in range(200):
    if supervisor.runtime.usb_connected:
        break
    time.sleep(0.005)
"""
_MAKE_NIC: Final = "def make_nic(config):\n"
_NAMED: Final = """LIBRARY = sys.modules["adafruit_wiznet5k.adafruit_wiznet5k"]
RESULT["library"] = "%s from %s" % (getattr(LIBRARY, "__version__", "?"), getattr(LIBRARY, "__file__", "the image"))


"""


def hidden(files: Iterable[str], frozen: Collection[str]) -> list[str]:
    """Modules of the deployed `files` that the image also has, and would prefer: `sys.path` is ., /, .frozen, /lib."""
    modules = {path.split("/")[1].removesuffix(".py") for path in files if path.startswith("lib/")}
    return sorted(modules & set(frozen))


def ours_first(script: str) -> str:
    """The client changed to prefer lib/ to the image, and to report the library that it got.

    Every deployed byte moves simulated figures, so only the client for such an image is changed.
    """
    return _LIBRARIES_FIRST + _with_before(script, _NAMED, _MAKE_NIC)


def after_usb(script: str) -> str:
    """The client changed to wait for the PC to have set up its USB device, 1 s at most, before its clock begins.

    CircuitPython before 9.0 does not serve USB in the 3 s in which it compiles the driver. If the PC gives the device
    up in that time and tries again, it crashes.
    """
    return _with_before(script, _AFTER_USB, _CLOCK_BEGINS)


def _with_before(script: str, added: str, line: str) -> str:
    if script.count(line) != 1:
        raise PortbenchError(f"the client has {line.strip()!r} {script.count(line)} times, not once")
    return script.replace(line, added + line)


_MAC: Final = b'"02:08:dc:55:00:01"'
_PARTNERS_MAC: Final = b'"02:08:dc:55:00:02"'
"""The partner's address, as long as the other, so that the script takes the same time."""


def as_partner(deployment: Deployment, board: BoardDefinition) -> Deployment:
    """Give a partner another MAC address, so that two boards with the same client can share a network.

    CircuitPython's client sets the address of a chip without one; other firmware derives it from the flash chip's
    number. Raises PortbenchError.
    """
    if deployment.family != "circuitpython" or not isinstance(board.network, Ethernet):
        return deployment
    script = deployment.files["code.py"]
    if script.count(_MAC) != 1:
        raise PortbenchError(f"code.py: has the MAC address {_MAC.decode()} {script.count(_MAC)} times, not once")
    return replace(deployment, files={**deployment.files, "code.py": script.replace(_MAC, _PARTNERS_MAC)})


def build_deployment(
    family: str,
    version: str,
    board: BoardDefinition,
    workload: Workload,
    settings: WorkloadSettings,
    network: ClientNetwork | None,
    timeout_s: float = 60.0,
    frozen: Collection[str] = (),
    libraries: Sequence[OwnLibrary] = (),
) -> Deployment:
    """The client of `family` for `board` with the workload's body, its configuration and its libraries.

    `version`: as the firmware reports it, or "" if it is not known.
    `timeout_s` bounds the download of a library that is not in the cache yet. `frozen`: modules that the image itself
    has, as `Identity.frozen`. `libraries`: the user's. Raises PortbenchError.
    """
    if family not in FAMILIES:
        raise PortbenchError(f"no client for family {family!r}: there are {', '.join(FAMILIES)}")
    kind = FAMILIES[family]
    if kind.script in frozen and kind.language == "micropython":
        raise PortbenchError(
            f"the image has a frozen {kind.script}, which it runs in place of a file; build it without"
        )
    body = workload.body(kind.language)
    if body is None or not kind.runs(workload):
        raise PortbenchError(f"{workload.name}: cannot be run by {family}: it has no body in {kind.language}")
    ready = workload.readiness
    parts = kind.parts(ready, board)
    with deferred_interrupts():  # raised in a callback of symtable's weak references, Python prints and drops it
        script = fold(assemble(kind.client(ready), parts, body, workload.entry, workload.title), board)
    script = adapted(script, family, version)
    files = {kind.script: script.encode(), CONFIG_NAME: config_json(settings, network)}
    files |= workload.files(family, settings)
    try:
        asked = workload.libraries(family, settings)
    except ValueError as error:
        raise PortbenchError(str(error)) from None
    if kind.language == "micropython" and asked:
        files |= driver_files(asked, timeout_s)
    elif kind.language == "circuitpython" and asked:
        major = _major(version) if family == "circuitpython" else NEWEST_MAJOR
        files |= library_files(major, timeout_s, names=asked)
    wired = isinstance(board.network, Ethernet)
    has_driver = family == "circuitpython" and wired and workload.readiness is not Readiness.BOOTED
    if has_driver:
        files |= library_files(_major(version), timeout_s)
        if _major(version) < _SERVES_USB_MAJOR:
            script = after_usb(script)
    files = with_own(files, libraries, "lib/" if kind.language == "circuitpython" else "")
    if hidden(files, frozen) and (has_driver or libraries):
        script = ours_first(script) if has_driver else _LIBRARIES_FIRST + script
    files[kind.script] = script.encode()
    return Deployment(files, family)


def _major(version: str) -> int:
    major = version.split(".")[0]
    if not major.isdigit():
        raise PortbenchError(f"CircuitPython version {version!r} does not begin with its major number")
    return int(major)
