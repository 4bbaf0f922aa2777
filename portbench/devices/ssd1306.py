"""SSD1306, Solomon Systech's controller of monochrome displays, on I2C (Rev 1.1)."""

from io import BytesIO

from portbench_engine.devices import I2cDevice

from portbench.errors import LibraryMissing

_ARGUMENTS = {
    **dict.fromkeys((0x20, 0x81, 0x8D, 0xA8, 0xD3, 0xD5, 0xD9, 0xDA, 0xDB), 1),
    **{0x21: 2, 0x22: 2, 0xA3: 2, 0x26: 6, 0x27: 6, 0x29: 5, 0x2A: 5},
}
_MODE, _FLIP_X, _ALL_ON, _INVERTED, _ON, _FLIP_Y, _OFFSET = 0x20, 0xA0, 0xA4, 0xA6, 0xAE, 0xC0, 0xD3


class Ssd1306(I2cDevice):
    """A display that stands upright with the usual commands 0xA1 and 0xC8. It does not scroll by itself."""

    def __init__(self, width: int = 128, height: int = 64, address: int = 0x3C) -> None:
        self.width, self.height, self.address = width, height, address

    def power_up(self) -> None:
        self._settings = {_MODE: 2, _FLIP_X: 0, _ALL_ON: 0, _INVERTED: 0, _ON: 0, _FLIP_Y: 0, _OFFSET: 0}
        self._at, self._windows, self._start_line = [0, 0], [(0, 127), (0, 7)], 0
        self._ram, self._command = bytearray(128 * 8), bytearray()

    def write(self, data: bytes) -> None:
        while data:
            control, size = data[0], 1 if data[0] & 0x80 else len(data)
            for byte in data[1 : 1 + size]:
                (self._store if control & 0x40 else self._take)(byte)
            data = data[1 + size :]

    def _store(self, byte: int) -> None:
        self._ram[self._at[1] * 128 + self._at[0]] = byte
        for axis in ((0, 1), (1, 0), (0,), (0,))[self._settings[_MODE] & 3]:
            first, last = self._windows[axis]
            ended = self._at[axis] == last
            self._at[axis] = first if ended else (self._at[axis] + 1) % (128, 8)[axis]
            if not ended:
                break

    def _take(self, byte: int) -> None:
        self._command.append(byte)
        code, *values = self._command
        if len(values) < _ARGUMENTS.get(code, 0):
            return
        self._command = bytearray()
        if code in (0x21, 0x22):
            first, last = (value % (128, 8)[code - 0x21] for value in values)
            self._windows[code - 0x21], self._at[code - 0x21] = (first, last), first
        elif code < 0x20:
            self._at[0] = self._at[0] & 0x70 | code if code < 0x10 else self._at[0] & 15 | code % 8 << 4
        elif 0x40 <= code < 0x80:
            self._start_line = code % 64
        elif code & 0xF8 == 0xB0:
            self._at[1] = code % 8
        else:
            self._settings[_FLIP_Y if code == 0xC8 else code if values else code & 0xFE] = [code, *values][-1]

    def pixel(self, x: int, y: int) -> bool:
        """True if the pixel is lit."""
        column = x if self._settings[_FLIP_X] & 1 else self.width - 1 - x
        row = y if self._settings[_FLIP_Y] == 0xC8 else self.height - 1 - y
        row = (row + self._start_line + self._settings[_OFFSET]) % 64
        bit = self._ram[row // 8 * 128 + column] >> row % 8 & 1 ^ self._settings[_INVERTED] & 1
        return bool(self._settings[_ON] & 1 and (bit or self._settings[_ALL_ON] & 1))

    def png(self) -> bytes:
        """Return the picture as a PNG file."""
        with LibraryMissing.unless_installed("test", "Ssd1306.png"):
            from PIL import Image
        image, file = Image.new("1", (self.width, self.height)), BytesIO()
        image.putdata([self.pixel(x, y) for y in range(self.height) for x in range(self.width)])
        image.save(file, "PNG")
        return file.getvalue()
