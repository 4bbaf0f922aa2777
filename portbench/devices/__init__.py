"""Ready parts for an emulated board, one file each: see docs/recipes.md.

    board.attach("i2c0", Bme280(celsius=21.5), sda_pin=4, scl_pin=5)

Each is a device of `portbench_engine.devices`. Set its attributes at any time.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from portbench_engine.devices import Device

PARTS: dict[str, type[Device]] = {}  # by their names

for _file in iter_modules(__path__):
    _module = import_module(f"{__name__}.{_file.name}")
    _own = (each for each in vars(_module).values() if getattr(each, "__module__", "") == _module.__name__)
    PARTS |= {each.__name__: each for each in _own if isinstance(each, type)}


def __getattr__(name: str) -> Any:
    if name not in PARTS:
        raise AttributeError(f"{__name__} has no part {name!r}; use one of {', '.join(PARTS)}")
    return PARTS[name]
