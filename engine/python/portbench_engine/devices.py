"""Devices that you write in Python, for the buses of an emulated board: see docs/attaching-a-device.md.

Extend the class of the bus, and attach an object of it. The engine calls its methods at exact simulated times, so the
same program and the same device give the same run on every machine. A callback may use everything but its own board.
"""

from collections.abc import Callable, Generator, Iterable

__all__ = ["MS", "US", "Bits", "Device", "I2cDevice", "OneWireDevice", "PinDevice", "SpiDevice", "UartDevice", "crc8"]

US, MS = 10**6, 10**9
"""Picoseconds."""


class Device:
    """A device on any bus. The engine reads `interrupt` and `wake_ps` after each callback."""

    now_ps: int = 0
    """Simulated time of the callback, in picoseconds since the last power-up."""
    wake_ps: int | None = None
    """When to call `wake`, as `now_ps` counts; None: never. Between two runs, a past time means as soon as it runs."""
    interrupt: bool = False
    """True pulls the interrupt pin low."""

    def power_up(self) -> None:
        """The board was switched on. The object stays the same over power cycles: forget what a chip forgets."""

    def reset(self) -> None:
        """The board pulled the reset pin low; the device gets no transfers until it is high."""

    def wake(self) -> bytes | None:
        """The time `wake_ps` came, which is None again; set it to a later time only. A UART device returns what it
        sends."""


class I2cDevice(Device):
    """A device on I2C, called once for each transfer."""

    address: int
    """Its 7 bits, without the read bit."""

    def acknowledges(self) -> bool:
        """Return whether it answers to its address now."""
        return True

    def write(self, data: bytes) -> None:
        """Take all bytes of a write, at its end: STOP or repeated START."""

    def read(self) -> Iterable[int]:
        """Return the bytes of a read, at its start; a generator is asked for each byte when its turn comes.

        The board decides how many it takes; beyond the last one it reads 0xff.
        """
        return b""


class SpiDevice(Device):
    """A device on SPI, called once for each frame: from chip select low to high."""

    def frame(self) -> Generator[int, int, None]:
        """Yield each byte for MISO, and get the byte that came on MOSI at the same time.

        MISO is 0xff after the last one. When chip select rises, the generator is closed: `finally` is the frame's end.
        """
        return
        yield


class UartDevice(Device):
    """A device on a UART, called for each character. It always uses 8 data bits, no parity, one stop bit."""

    baud: int = 9600
    """Speed at which it sends; it understands the board's at any."""

    def receive(self, data: bytes) -> bytes | None:
        """Take a character at the end of its stop bit; return what to send."""


class PinDevice(Device):
    """A device on pins without a bus. An attribute by the name of each pin is the level at which it holds that pin,
    True for high, or None; the board's output is stronger."""

    pins: tuple[str, ...]
    """Their names; each is attached by that with `_pin` behind."""

    def power_up(self) -> None:
        vars(self).update({pin: getattr(self, pin, None) for pin in self.pins})
        self.wake_ps = None
        self.plan: list[tuple[int, dict[str, bool | None]]] = []
        """The changes to come: picoseconds after the one before, and levels by their pins."""

    def later(self, after_ps: int, **levels: bool | None) -> None:
        """Set levels so long after the last planned change, or after this callback; in a test: after 0, at once."""
        if not self.plan:
            self.wake_ps = self.now_ps + after_ps
        self.plan.append((after_ps, levels))

    def edge(self, pin: str, high: bool) -> None:
        """The board makes an edge. A pin that the board does not drive counts as high."""

    def wake(self) -> None:
        """Make the next planned change."""
        _, levels = self.plan.pop(0)
        vars(self).update(levels)
        if self.plan:
            self.wake_ps = self.now_ps + max(1, self.plan[0][0])


Bits = Generator[Callable[[], int] | int | None, int, None]
"""A session: yields None to take a bit, or the bit to send, or a function that returns it when its turn comes."""


class OneWireDevice(PinDevice):
    """A device on a one-wire bus, alone on its pin `dq` and with a pull-up. It has the typical times of the standard
    speed."""

    pins = ("dq",)
    dq: bool | None = True

    def power_up(self) -> None:
        super().power_up()
        self.dq, self._fell_ps = True, 0
        self._session: Bits | None = None
        self._next: Callable[[], int] | int | None = None

    def session(self) -> Bits:
        """Take and send bits from a reset to the next. The device is silent after its end."""
        yield None

    def take(self) -> Generator[None, int, int]:
        """Take a byte."""
        byte = 0
        for place in range(8):
            byte |= (yield None) << place
        return byte

    def give(self, data: bytes) -> Bits:
        """Send bytes."""
        yield from (byte >> place & 1 for byte in data for place in range(8))

    def edge(self, pin: str, high: bool) -> None:
        if not high:
            self._fell_ps = self.now_ps
            self._next = self._next() if callable(self._next) else self._next
            if self._next == 0:
                self.dq = False
                self.later(30 * US, dq=True)
        elif (low_ps := self.now_ps - self._fell_ps) >= 480 * US:
            self.plan, self.dq, self._session = [], True, self.session()
            self.later(30 * US, dq=False)
            self.later(120 * US, dq=True)
            self._go_on(self._session, None)
        elif self._session is not None:
            self._go_on(self._session, int(low_ps < 30 * US))

    def _go_on(self, session: Bits, bit: int | None) -> None:
        try:
            self._next = next(session) if bit is None else session.send(bit)
        except StopIteration:
            self._session = self._next = None


def crc8(data: bytes) -> bytes:
    """Return the checksum of devices on one wire."""
    crc = 0
    for bit in (byte >> place for byte in data for place in range(8)):
        crc = crc >> 1 ^ 0x8C * ((crc ^ bit) & 1)
    return bytes([crc])
