"""The clients of MicroPython releases whose module `network` differs from the one that the scripts are written for.

Every deployed byte moves simulated figures, so only the clients of those releases are changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from portbench.firmware.identify import release

_WIZNETS_CLASS: Final = (("network.WIZNET5K", "network.WIZNET6K"),)
"""WIZnet's line since 2025 has one class for all of its chips."""
_WITHOUT_DHCP: Final = (
    ("    nic.active(True)\n", '    if hasattr(nic, "active"):\n        nic.active(True)\n'),
    (
        "        except OSError:  # the driver gave up",
        "        except TypeError:\n"
        '            raise OSError("this firmware has no DHCP client; use -s address_mode=static")\n'
        "        except OSError:  # the driver gave up",
    ),
)
"""WIZnet's first build, of 2021: its chip is always active, and its address is static."""
_OLD_RADIO: Final = (
    ("network.WLAN.PM_PERFORMANCE", "0xA11142"),
    ("network.WLAN.PM_NONE", "0x10"),
    (
        '    RESULT["rssi_dbm"] = nic.status("rssi")\n',
        '    try:\n        RESULT["rssi_dbm"] = nic.status("rssi")\n    except ValueError:\n        pass\n',
    ),
)
"""The constants came with 1.21, the signal's strength with 1.20."""


def adapted(script: str, family: str, version: str) -> str:
    """`script` for that MicroPython. `version`: as the firmware reports it; one without numbers may be an old one."""
    for old, new in _changes(family, version):
        script = script.replace(old, new)
    return script


def _changes(family: str, version: str) -> Iterator[tuple[str, str]]:
    if family not in ("micropython", "wiznet"):
        return
    if "-WIZnet" in version:
        yield from _WIZNETS_CLASS
    if family == "wiznet" and release(version) < (1, 18):
        yield from _WITHOUT_DHCP
    if release(version) < (1, 21):
        yield from _OLD_RADIO
