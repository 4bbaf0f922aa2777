"""The wireless network that a board joins: its name and its passphrase, which is shown to no one else."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from platformdirs import user_config_path

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

    def hidden_in(self, text: str) -> str:
        """`text` without the passphrase."""
        return text if self.passphrase is None else text.replace(self.passphrase, "***")


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
    return _of_file(path)


def _of_file(path: Path) -> WifiCredentials:
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
