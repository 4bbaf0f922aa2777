"""DS18B20, Maxim's thermometer on one wire (19-7487)."""

from portbench_engine.devices import MS, Bits, OneWireDevice, crc8


class Ds18b20(OneWireDevice):
    """Has its own supply and no EEPROM. A conversion takes `celsius` as it is at its start, and 750 ms at 12 bits."""

    def __init__(self, celsius: float = 25.0, serial: int = 0x2A) -> None:
        family = b"\x28" + serial.to_bytes(6, "little")
        self.celsius, self.rom = celsius, family + crc8(family)

    def power_up(self) -> None:
        super().power_up()
        self._memory = bytearray(b"\x50\x05\x4b\x46\x7f\xff\x0c\x10")
        self._converted, self._ready_ps = b"\x50\x05", 0

    def session(self) -> Bits:
        command = yield from self.take()
        for bit in (byte >> place & 1 for byte in self.rom for place in range(8)):
            if command in (0x33, 0xF0):
                yield bit
            if command == 0xF0:
                yield 1 - bit
            if command in (0x55, 0xF0) and (yield None) != bit:
                return
        if command in (0x33, 0x55, 0xCC):
            yield from self._obey((yield from self.take()))

    def _obey(self, function: int) -> Bits:
        if self.now_ps >= self._ready_ps:
            self._memory[:2] = self._converted
        if function == 0x44:
            lacks = 3 - (self._memory[4] >> 5 & 3)
            self._converted = (round(self.celsius * 16) & -(1 << lacks) & 0xFFFF).to_bytes(2, "little")
            self._ready_ps = self.now_ps + (750 * MS >> lacks)
            while True:
                yield lambda: int(self.now_ps >= self._ready_ps)
        elif function == 0xBE:
            yield from self.give(bytes(self._memory) + crc8(bytes(self._memory)))
        elif function == 0x4E:
            for place in (2, 3, 4):
                self._memory[place] = yield from self.take()
