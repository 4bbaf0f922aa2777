"""Modules that portbench imports and a page cannot use: serial ports, TLS. Importing this puts them in place."""

import sys
from types import ModuleType


class _Port:
    """A page has none."""

    def __init__(self, *_: object, **__: object) -> None:
        raise OSError("a page has no serial ports")


def _module(name: str, **contents: object) -> None:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


_module("serial", Serial=_Port, SerialException=OSError, PortNotOpenError=OSError, SerialTimeoutException=OSError)
_module("serial.rfc2217", Serial=_Port)
_module("serial.urlhandler")
_module("serial.urlhandler.protocol_socket", Serial=_Port)
_module("serial.tools")
_module("serial.tools.list_ports", comports=list)
_module("serial.tools.list_ports_common", ListPortInfo=object)
_module("serial.tools.list_ports_linux", SysFS=object)
_module("ssl", __getattr__=lambda name: type(name, (Exception,), {}))
