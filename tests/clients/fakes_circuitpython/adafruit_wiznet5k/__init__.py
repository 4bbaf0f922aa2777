"""The public calls of adafruit_wiznet5k 7.4.5; a PC has the real drivers in tests/boards/hosted."""

import sys
import types

from scenario import SCENARIO, record

_ERRORS = list(SCENARIO["connect_errors"])


class _Socket:
    def connect(self, address):
        if _ERRORS:
            raise RuntimeError("Failed to connect to host ", _ERRORS.pop(0))
        record({"connect": list(address)})

    def send(self, data):
        assert isinstance(data, bytes)
        self.answers = [b"%d" % (int(data) + 1)]

    def recv(self, size):
        return self.answers.pop(0) if self.answers else b""

    def close(self):
        pass


class SocketPool:
    def __init__(self, eth):
        pass

    def socket(self):
        return _Socket()


_pool = types.ModuleType("adafruit_wiznet5k.adafruit_wiznet5k_socketpool")
_pool.SocketPool = SocketPool
sys.modules[_pool.__name__] = _pool
