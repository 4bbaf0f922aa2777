"""The clients of releases whose modules differ from those that the scripts are written for.

Every deployed byte moves simulated figures, so only the clients of those releases are changed.
"""

import re
from collections.abc import Iterator
from typing import Final

from portbench.errors import PortbenchError, Unsupported
from portbench.firmware.identify import release

_FAMILIES: Final = ("micropython", "wiznet")
_Changes = tuple[tuple[str, str], ...]
_ETHERNET: Final = "network.WIZNET5K"
_RADIO: Final = "network.WLAN"

_WIZNETS_CLASS: Final = ((_ETHERNET, "network.WIZNET6K"),)
"""WIZnet's line since 2025 has one class for all of its chips."""
_ACTIVE: Final = "    nic.active(True)\n"
_ACTIVE_ASKS: Final = (
    (_ACTIVE, '    if hasattr(nic, "active") and config["address_mode"] == "dhcp":\n        nic.active(True)\n'),
)
_MAY_BE_ACTIVE: Final = ((_ACTIVE, '    if hasattr(nic, "active"):\n        nic.active(True)\n'),)
"""Changes for a build of unknown version: later ones are dead until they are active, with a static address too."""
_EARLY_DHCP: Final = (
    (
        "        except OSError:  # the driver gave up",
        "        except TypeError:\n"
        '            if hasattr(nic, "active"):\n'
        "                break\n"
        '            raise OSError("unsupported: this firmware has no DHCP client; add -s address_mode=static")\n'
        "        except OSError:  # the driver gave up",
    ),
)
"""WIZnet's builds of 1.17 and 1.18 take no "dhcp": `active` of 1.18 asks for an address by itself; the first one, of
2021, has no `active`, and its address is static."""
_SPI_OF_DRIVER: Final = (
    (
        'int(text[text.index("baudrate=") + 9 :].split(",")[0])',
        "125_000_000 // (machine.mem32[0x4003C010] * ((machine.mem32[0x4003C000] >> 8 & 255) + 1))",
    ),
    ("    text = str(SPI(0))  # no arguments: shows the bus as it is\n", "    import machine\n\n"),
)
"""The driver of these builds sets SPI0 to 48.8 kHz, which the bus object does not learn of: SSPCPSR and SSPCR0 of the
RP2040 have it, at 125 MHz."""
_OLD_RADIO: Final = (
    ("network.WLAN.PM_PERFORMANCE", "0xA11142"),
    ("network.WLAN.PM_NONE", "0x10"),
    (
        '    RESULT["rssi_dbm"] = nic.status("rssi")\n',
        '    try:\n        RESULT["rssi_dbm"] = nic.status("rssi")\n    except ValueError:\n        pass\n',
    ),
)
"""The constants came with 1.21, the signal's strength with 1.20."""
_INTERPRETER: Final = "def interpreter(passes, repeats):"
_COARSE_CLOCK: Final = (
    ("        for _ in range(repeats):\n", "        while len(times_us) < repeats:\n"),
    (
        "            times_us.append(difference_us(ended, started))\n",
        "            times_us.append(difference_us(ended, started))\n"
        '            if times_us[-1] < 100 * RESULT["clock_step_us"]:\n'
        "                given[0] *= 2\n"
        "                times_us = []\n",
    ),
)
"""`monotonic_ns` moves in steps of 976 us: a loop that ends too soon to be timed is doubled."""
_ASYNCIO: Final = re.compile(r"^import asyncio$", re.MULTILINE)
"""The module has this name since 1.21, and before it in some builds that count from 1.20: `1.20.0-370-g7bfc22571`."""


def adapted(script: str, family: str, version: str) -> str:
    """`script` for that firmware. `version`: as the firmware reports it; one without numbers may be an old one.

    Raises PortbenchError if the script uses a module without a line that is to change; Unsupported if it imports
    asyncio, and the release is too old for it.
    """
    too_old = () < release(version) < (1, 20) or version == "1.20.0"
    if family in _FAMILIES and too_old and _ASYNCIO.search(script):
        raise Unsupported(f"unsupported: asyncio is from MicroPython 1.21 on, and this is {version}")
    for changes in [changes for of, changes in _changes(family, version) if of in script]:
        for old, new in changes:
            if old not in script:
                raise PortbenchError(
                    f"clients/dialects.py: {old.strip()!r} is not in the client for {family} {version}; adapt the"
                    " replacement to the client"
                )
            script = script.replace(old, new)
    return script


def _changes(family: str, version: str) -> Iterator[tuple[str, _Changes]]:
    """With the words whose use they change."""
    if family == "circuitpython" and release(version) < (9,):
        yield _INTERPRETER, _COARSE_CLOCK
    if family not in _FAMILIES:
        return
    if "-WIZnet" in version:
        yield _ETHERNET, _WIZNETS_CLASS
    if family == "wiznet" and release(version) < (1, 19):
        yield _ETHERNET, _ACTIVE_ASKS if release(version) else _MAY_BE_ACTIVE
        yield _ETHERNET, _EARLY_DHCP
        yield "str(SPI(0))", _SPI_OF_DRIVER
    if release(version) < (1, 21):
        yield _RADIO, _OLD_RADIO
