"""The wireless network that a board joins: the user's, whose passphrase is shown to no one else, or a simulated one."""

import os
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from platformdirs import user_config_path
from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr
from pydantic.dataclasses import dataclass as checked_dataclass

from portbench.errors import BoardUnavailable, PortbenchError
from portbench.toml_files import parse_toml, read_text

SSID_VARIABLE: Final = "PORTBENCH_WIFI_SSID"
PASSPHRASE_VARIABLE: Final = "PORTBENCH_WIFI_PASSPHRASE"
FILE: Final = "wifi.toml"


@dataclass(frozen=True)
class WifiCredentials:
    """`passphrase` None: an open network. It is in no text of this object."""

    ssid: str
    passphrase: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.ssid.encode()) <= 32:
            raise ValueError(f"the ssid has {len(self.ssid.encode())} bytes; a network's name has 1 to 32")
        if self.passphrase is not None and not 8 <= len(self.passphrase) <= 63:
            raise ValueError(f"the passphrase has {len(self.passphrase)} characters; use 8 to 63, or none")


def users_credentials() -> WifiCredentials:
    """Return the credentials for real boards, from the environment or `wifi.toml`. Raises BoardUnavailable."""
    path = user_config_path("portbench") / FILE
    if ssid := os.environ.get(SSID_VARIABLE):
        return _credentials(ssid, os.environ.get(PASSPHRASE_VARIABLE) or None, SSID_VARIABLE)
    if not path.exists():
        raise BoardUnavailable(
            f"the board needs a wireless network: set {SSID_VARIABLE} and {PASSPHRASE_VARIABLE}, or write ssid and"
            f" passphrase into {path}"
        )
    try:
        document = parse_toml(read_text(path), path)
    except PortbenchError as error:
        raise BoardUnavailable(str(error)) from error
    ssid, passphrase = document.pop("ssid", None), document.pop("passphrase", None)
    if document:
        raise BoardUnavailable(f"{path}: {min(document)} is unknown; give ssid and passphrase only")
    if not isinstance(ssid, str) or not isinstance(passphrase, str | None):
        raise BoardUnavailable(f'{path}: write ssid = "NAME", and passphrase = "WORDS" unless the network is open')
    return _credentials(ssid, passphrase, str(path))


def _credentials(ssid: str, passphrase: str | None, where: str) -> WifiCredentials:
    try:
        return WifiCredentials(ssid, passphrase)
    except ValueError as error:
        raise BoardUnavailable(f"{where}: {error}") from None


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class AccessPoint:
    """An access point. `passphrase` None: open, else WPA2. `hidden`: its beacons leave out its name. `rssi_dbm`: its
    signal at the board; below -92 dBm the board is out of range. `beacon_tu`: time between beacons in units of 1024 us;
    `dtim`: beacons from one that announces frames for all stations to the next. `delay_us`: its delay of a frame for
    the board; None: the delay that a published ping shows, see docs/pico-w.md. `join_delay_us`: the most that it takes
    longer than usual to admit a board; `loss_per_mille`: of a frame's sendings; both drawn from the run's seed.
    """

    ssid: Annotated[StrictStr, Field(min_length=1, max_length=32)] = "portbench"
    passphrase: Annotated[StrictStr, Field(min_length=8, max_length=63)] | None = "emulated"
    hidden: StrictBool = False
    channel: Annotated[StrictInt, Field(ge=1, le=13)] = 6
    rssi_dbm: Annotated[StrictInt, Field(ge=-120, le=0)] = -50
    beacon_tu: Annotated[StrictInt, Field(ge=10, le=1000)] = 100
    dtim: Annotated[StrictInt, Field(ge=1, le=10)] = 1
    delay_us: Annotated[StrictInt, Field(ge=0, le=1_000_000)] | None = None
    join_delay_us: Annotated[StrictInt, Field(ge=0, le=60_000_000)] = 0
    loss_per_mille: Annotated[StrictInt, Field(ge=0, le=1000)] = 0

    def settings(self) -> dict[str, Any]:
        return dict(vars(self))

    def unusual(self) -> dict[str, int | bool | str] | None:
        """The settings of a row that are not the usual ones: `open` instead of the passphrase."""
        told: dict[str, int | bool | str] = {
            name: value for name, value in vars(self).items() if value != getattr(_USUAL, name) and name != "passphrase"
        }
        if self.passphrase is None:
            told["open"] = True
        return told or None

    @property
    def credentials(self) -> WifiCredentials:
        return WifiCredentials(self.ssid, self.passphrase)


_USUAL: Final = AccessPoint()
