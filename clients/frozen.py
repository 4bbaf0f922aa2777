"""CircuitPython images with libraries of their own, which come before those in lib/ (`sys.path`: ., /, .frozen, /lib).

Every byte that is deployed moves simulated figures, so only the client for such an image differs from the usual one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from portbench.errors import PortbenchError

_FIRST: Final = 'import sys\n\nsys.path.insert(0, "/lib")\n'
_PLACE: Final = "def make_nic(config):\n"
_NAMED: Final = """LIBRARY = sys.modules["adafruit_wiznet5k.adafruit_wiznet5k"]
RESULT["library"] = "%s from %s" % (getattr(LIBRARY, "__version__", "?"), getattr(LIBRARY, "__file__", "the image"))


"""


def hidden(files: Iterable[str], frozen: Collection[str]) -> list[str]:
    """Modules among the deployed `files` that the image has too."""
    modules = {path.split("/")[1].removesuffix(".py") for path in files if path.startswith("lib/")}
    return sorted(modules & set(frozen))


def ours_first(script: str) -> str:
    """The client that takes what is in lib/ before what is in the image, and says which it got."""
    if script.count(_PLACE) != 1:
        raise PortbenchError(f"the client has {_PLACE.strip()!r} {script.count(_PLACE)} times, not once")
    return _FIRST + script.replace(_PLACE, _NAMED + _PLACE)
