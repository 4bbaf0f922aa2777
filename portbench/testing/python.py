"""The board's Python prompt in simulated time: mpremote's transport on the simulated console."""

from __future__ import annotations

from typing import Any

from mpremote.transport import TransportError, TransportExecError  # type: ignore[import-untyped]
from mpremote.transport_serial import SerialTransport  # type: ignore[import-untyped]

from portbench.testing.errors import NothingCame
from portbench.testing.simulation import Simulation

_CHUNK_BYTES = 512
_PROMPT_S = 10.0
_FILE_S = 60.0
_MAKE_FOLDER = "import os\ntry:\n os.mkdir({0!r})\nexcept OSError:\n os.listdir({0!r})\n"


class _Wire:
    """What mpremote takes for a serial port. Reading runs the board; it never comes back with nothing."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._buffer = bytearray()
        self.until_us = 0.0
        self.what = ""

    def write(self, data: bytes) -> int:
        type_in(self._simulation, data)
        return len(data)

    def read(self, size: int = 1) -> bytes:
        left_s = max(0.0, self.until_us - self._simulation.now_us) / 1e6
        self._simulation.wait(lambda: self._filled(size), left_s, self.what, self._simulation.came_on_console)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def inWaiting(self) -> int:
        self._fill()
        return len(self._buffer)

    def _filled(self, size: int) -> bool:
        self._fill()
        return len(self._buffer) >= size

    def _fill(self) -> None:
        self._buffer += self._simulation.console.take()


def type_in(simulation: Simulation, data: bytes) -> None:
    """At the console, once the board has one that is open."""
    simulation.wait(lambda: simulation.usb["console_open"], _PROMPT_S, "a console", simulation.came_on_console)
    rest = data
    while rest:
        rest = rest[simulation.machine.console_write(rest) :]
        if rest:
            simulation.run(0.001)


class PythonPrompt:
    """The interpreter that runs on the board, interrupted if it runs a program."""

    def __init__(self, simulation: Simulation) -> None:
        self._wire = _Wire(simulation)
        self._simulation = simulation
        # Made without its constructor, which opens a port of its own.
        self._transport: Any = SerialTransport.__new__(SerialTransport)
        self._transport.serial = self._wire
        self._transport.in_raw_repl = False
        self._transport.use_raw_paste = True
        self._transport.mounted = False
        self._transport.device_name = "emulated"
        self._transport.is_pty = True  # read byte by byte, without asking how many wait

    def execute(self, code: str, within_s: float) -> str:
        """Run `code` and return what it printed."""
        with self._raw(within_s, f"the end of {code[:40]!r}"):
            printed: bytes = self._guarded(lambda: self._transport.exec(code))
        return printed.decode("utf-8", "replace")

    def write_files(self, files: dict[str, bytes]) -> None:
        for path, content in files.items():
            with self._raw(_FILE_S, f"{path} to be written"):
                for parent in _parents(path):
                    self._guarded(lambda parent=parent: self._transport.exec(_MAKE_FOLDER.format(parent)))
                self._guarded(
                    lambda path=path, content=content: self._transport.fs_writefile(
                        path, content, chunk_size=_CHUNK_BYTES
                    )
                )

    def _raw(self, within_s: float, what: str) -> _Raw:
        return _Raw(self._simulation, self._wire, self._transport, within_s, what)

    def _guarded(self, action: Any) -> Any:
        try:
            return action()
        except TransportExecError as error:
            raise NothingCame(f"the board's Python raised:\n{error.error_output}") from None
        except (TransportError, OSError) as error:
            raise NothingCame(f"{self._wire.what}: {error}\n{self._simulation.came_on_console()}") from None


class _Raw:
    """In the raw REPL, and out of it again."""

    def __init__(self, simulation: Simulation, wire: _Wire, transport: Any, within_s: float, what: str) -> None:
        self._simulation = simulation
        self._wire = wire
        self._transport = transport
        self._within_s = within_s
        self._what = what

    def __enter__(self) -> None:
        self._wire.until_us, self._wire.what = self._simulation.now_us + _PROMPT_S * 1e6, "the Python prompt"
        type_in(self._simulation, b"\r\x03\x03\r\x02")  # Ctrl-C: stop; Ctrl-B: out of a raw REPL that was left open
        self._simulation.run(0.1)
        self._simulation.console.take()
        try:
            self._transport.enter_raw_repl(soft_reset=False)
        except TransportError as error:
            raise NothingCame(f"the Python prompt: {error}\n{self._simulation.came_on_console()}") from None
        self._wire.until_us, self._wire.what = self._simulation.now_us + self._within_s * 1e6, self._what

    def __exit__(self, *_: object) -> None:
        self._transport.exit_raw_repl()
        self._simulation.run(0.05)
        self._simulation.console.take()


def _parents(path: str) -> list[str]:
    parts = path.strip("/").split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
