"""The access point that an emulated board with a radio chip finds."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr
from pydantic.dataclasses import dataclass

from portbench.boards.wifi import WifiCredentials


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
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
        """The settings that a row tells, as they are not the usual ones: `open` in the place of the passphrase."""
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
