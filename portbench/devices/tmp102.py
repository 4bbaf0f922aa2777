"""TMP102, a thermometer of Texas Instruments on I2C (SBOS397)."""

from portbench_engine.devices import MS, I2cDevice

_PERIODS_PS = (4000 * MS, 1000 * MS, 250 * MS, 125 * MS)
_SHUTDOWN, _ONE_SHOT, _ACTIVE_HIGH, _ALERT = 1 << 8, 1 << 15, 1 << 10, 1 << 5


class Tmp102(I2cDevice):
    """Converts `celsius` to 12 bits four times a second, the first time 26 ms after power-up or a new configuration.

    Its pin ALERT, `intn_pin`, works as a comparator. It has no extended mode.
    """

    def __init__(self, celsius: float = 25.0, address: int = 0x48) -> None:
        self.celsius, self.address = celsius, address

    def power_up(self) -> None:
        self._pointer, self._alarm, self._registers = 0, False, [0, 0x60A0, 75 << 8, 80 << 8]
        self.interrupt, self.wake_ps = False, 26 * MS

    def wake(self) -> None:
        """End a conversion."""
        steps = max(-55 * 16, min(0x7FF, round(self.celsius * 16)))
        low, high = ((limit ^ 0x8000) - 0x8000 >> 4 for limit in self._registers[2:])
        self._alarm = steps >= high or (self._alarm and steps >= low)
        self._registers[0] = steps << 4 & 0xFFFF
        self.interrupt = self._alarm is not bool(self._registers[1] & _ACTIVE_HIGH)
        if not self._registers[1] & _SHUTDOWN:
            self.wake_ps = self.now_ps + _PERIODS_PS[self._registers[1] >> 6 & 3]

    def write(self, data: bytes) -> None:
        self._pointer = data[0] & 3 if data else self._pointer
        if len(data) < 3 or self._pointer == 0:
            return
        self._registers[self._pointer] = value = int.from_bytes(data[1:3], "big")
        if self._pointer == 1:
            self.wake_ps = self.now_ps + 26 * MS if value & _ONE_SHOT or not value & _SHUTDOWN else None

    def read(self) -> bytes:
        value = self._registers[self._pointer]
        if self._pointer == 1:
            ready = _ONE_SHOT if value & _SHUTDOWN and self.wake_ps is None else 0
            alert = _ALERT if self._alarm is bool(value & _ACTIVE_HIGH) else 0
            value = value & ~(_ONE_SHOT | _ALERT) | 3 << 13 | ready | alert
        return value.to_bytes(2, "big")
