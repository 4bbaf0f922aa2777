"""Devices that you write in Python, for the buses of an emulated board: see docs/attaching-a-device.md.

Extend the class of the bus, and attach an object of it. The engine calls its methods at exact simulated times, so the
same program and the same device give the same run on every machine. A callback may use everything but its own board.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

__all__ = ["Device", "I2cDevice", "SpiDevice", "UartDevice"]


class Device:
    """A device on any bus. The engine reads `interrupt` and `wake_ps` after each callback."""

    now_ps: int = 0
    """Simulated time of the callback, in picoseconds since the last power-up."""
    wake_ps: int | None = None
    """When to call `wake`, as `now_ps` counts; None: never."""
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
