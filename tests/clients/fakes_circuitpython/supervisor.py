from scenario import SCENARIO


class _Runtime:
    looks = 0

    @property
    def serial_connected(self):
        self.looks += 1
        return self.looks > SCENARIO["console_after_looks"]


runtime = _Runtime()
