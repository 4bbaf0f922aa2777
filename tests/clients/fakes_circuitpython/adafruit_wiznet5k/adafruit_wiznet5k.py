from scenario import SCENARIO, record


class WIZNET5K:
    looks = 0
    ip_address = bytes(4)

    def __init__(self, spi, cs, is_dhcp, mac, **speed):
        assert not is_dhcp and cs.pin == 17
        assert len([int(part, 16) for part in mac.split(":")]) == 6  # as 7.4.5 reads it: a tuple fails
        self.leases_refused = SCENARIO["leases_refused"]

    @property
    def link_status(self):
        self.looks += 1
        return self.looks > SCENARIO["link_after_looks"]

    def set_dhcp(self):
        if self.leases_refused:
            self.leases_refused -= 1
            raise RuntimeError("Failed to configure DHCP Server!")
        self.ip_address = bytes((192, 168, 1, 20))
        record({"ifconfig": "dhcp"})

    def pretty_ip(self, address):
        return ".".join(str(part) for part in address)
