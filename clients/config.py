"""A client's parameters, deployed beside it as portbench_config.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass as checked

from portbench.boards import WifiCredentials
from portbench.workloads import WorkloadSettings

CONFIG_NAME: Final = "portbench_config.json"

AddressMode = Literal["dhcp", "static"]


@dataclass(frozen=True)
class StaticAddress:
    """The board's address where no DHCP is used."""

    ip: IPv4Address
    mask: IPv4Address
    gateway: IPv4Address
    dns: IPv4Address

    def as_list(self) -> list[str]:
        return [str(self.ip), str(self.mask), str(self.gateway), str(self.dns)]


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class ClientNetwork:
    """How a client reaches the PC's server at `port`, or on which `port` it listens where there is no `server`. Raises
    pydantic's ValidationError for what no client could use.

    `spi_hz` None: the board's or the driver's default. `intn`: use the INTn pin where the firmware can. `server` is an
    address, not a name: the clients look nothing up. `wifi`: what a board with a radio chip joins, in the place of
    `spi_hz` and `intn`. `power_save` None: as the firmware sets it.
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
