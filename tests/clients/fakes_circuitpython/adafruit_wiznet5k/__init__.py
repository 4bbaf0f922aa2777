"""The public calls of adafruit_wiznet5k; the submodule for sockets is 5.0.3's or 7.4.5's, as the scenario says."""

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
        if SCENARIO["split"]:
            self.answers = [self.answers[0][i : i + 1] for i in range(len(self.answers[0]))]

    def recv(self, size):
        return self.answers.pop(0) if self.answers else b""

    def close(self):
        pass


if SCENARIO["socketpool"]:
    _pool = types.ModuleType("adafruit_wiznet5k.adafruit_wiznet5k_socketpool")

    class SocketPool:
        def __init__(self, eth):
            record({"api": "socketpool"})

        def socket(self):
            return _Socket()

    _pool.SocketPool = SocketPool
    sys.modules[_pool.__name__] = _pool
else:
    adafruit_wiznet5k_socket = types.ModuleType("adafruit_wiznet5k.adafruit_wiznet5k_socket")
    adafruit_wiznet5k_socket.set_interface = lambda eth: record({"api": "socket"})
    adafruit_wiznet5k_socket.socket = _Socket
    sys.modules[adafruit_wiznet5k_socket.__name__] = adafruit_wiznet5k_socket
