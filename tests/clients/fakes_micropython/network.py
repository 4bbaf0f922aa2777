import time

from scenario import SCENARIO, record

STARTED_US = time.now_us


class WIZNET5K:
    def __init__(self, *args):
        record({"nic": [getattr(arg, "id", "spi") for arg in args]})
        if len(args) not in SCENARIO["nic_arguments"]:
            raise TypeError("function takes 3 positional arguments but %d were given" % len(args))
        self.address = "0.0.0.0"
        self.leases_refused = SCENARIO["leases_refused"]
        if SCENARIO["has_status"]:
            self.status = self._status

    def active(self, on):
        time.sleep_ms(411)  # what the driver waits for the chip's reset

    def _status(self):
        return 2 if self._link() else 0

    def _link(self):
        return time.now_us - STARTED_US >= SCENARIO["link_at_us"]

    def isconnected(self):
        return self._link() and self.address != "0.0.0.0"

    def ifconfig(self, setting=None):
        if setting is None:
            return (self.address, "255.255.255.0", "192.168.1.1", "192.168.1.1")
        if setting == "dhcp":
            if not self._link() or self.leases_refused:
                self.leases_refused = max(0, self.leases_refused - 1)
                time.sleep_ms(10_000)
                raise OSError("timeout waiting for DHCP to get IP address")
            self.address = "192.168.1.20"
        else:
            self.address = setting[0]
        record({"ifconfig": setting})
