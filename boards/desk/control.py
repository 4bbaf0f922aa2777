"""The control channel of a desk's board: its power, faults and pins, its PC and its sessions.

All that passes over USB on a real board passes through the serial port and the folder instead.
"""

import base64
import contextlib
import json
import queue
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Final

from portbench.boards.emulated.liveness import off_bus
from portbench.boards.pins import HIGH_V, pin_number
from portbench.boards.registry import CONTROL_SOCKET, read_state
from portbench.boards.timing import Deadline, waited
from portbench.errors import BoardError, BoardGone, DeadlineExceeded

_POLL_S: Final = 0.2
"""Time between two looks at a deadline: it learns how long the board's process had no processor."""


class Request:
    """One request, answered by the board's main loop."""

    def __init__(self, op: str, arguments: dict[str, Any]) -> None:
        self.op = op
        self.arguments = arguments
        self._answer: queue.Queue[dict[str, Any]] = queue.Queue(1)

    def answer(self, **values: Any) -> None:
        self._answer.put(values)

    def fail(self, text: str) -> None:
        self._answer.put({"error": text})

    def wait(self) -> dict[str, Any]:
        return self._answer.get()


class ControlServer:
    """Accepts requests on a socket in the board's folder and queues them for the main loop.

    The socket goes with the folder: `multiprocessing`'s listener would look for it as the process ends.
    """

    def __init__(self, folder: Path) -> None:
        self.requests: queue.Queue[Request] = queue.Queue()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / CONTROL_SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = Connection(self._listener.accept()[0].detach())
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="control client", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with contextlib.suppress(EOFError, OSError, ValueError, RecursionError), connection:
            while True:
                message = json.loads(connection.recv_bytes())
                arguments = message if isinstance(message, dict) else {}
                request = Request(str(arguments.pop("op", message)), arguments)
                self.requests.put(request)
                connection.send_bytes(json.dumps(request.wait()).encode())

    def close(self) -> None:
        self._listener.close()


class ControlClient:
    """Talks to one board's control channel. Errors of the board come as BoardError.

    While it is open, deadlines do not count the time in which the board's process had no processor.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._address = str(folder / CONTROL_SOCKET)
        self._pid: int | None = None
        self._folder = folder
        self._connection: Connection | None = self._connect()

    def _connect(self) -> Connection:
        try:
            connection = Client(self._address, family="AF_UNIX")
        except OSError as error:
            said = f"no emulated board of that name answers ({error.strerror or error}); see: portbench list boards"
            raise BoardError(f"{self._name}: {said}") from error
        state = read_state(self._folder)
        if state is not None:
            self._pid = state.pid
            waited.include(state.pid)
        return connection

    def call(self, op: str, deadline: Deadline, **arguments: Any) -> dict[str, Any]:
        """Ask the board to do `op` and return its answer."""
        self._connection = connection = self._connection or self._connect()
        try:
            connection.send_bytes(json.dumps({"op": op, **arguments}).encode())
            while not connection.poll(min(_POLL_S, deadline.remaining)):
                if deadline.expired:
                    self.close()  # or its late answer would be taken for the next one's
                    raise deadline.exceeded(f"{self._name} to answer {op!r}")
            answer: dict[str, Any] = json.loads(connection.recv_bytes())
        except (EOFError, OSError) as error:
            self.close()
            raise BoardGone(f"{self._name}: the emulated board's process ended during {op!r}") from error
        except BaseException:
            self.close()  # as would the answer to a request that Ctrl-C broke off
            raise
        if "error" in answer:
            raise BoardError(f"{self._name}: {answer['error']}")
        return answer

    def close(self) -> None:
        connection, self._connection = self._connection, None
        pid, self._pid = self._pid, None
        if pid is not None:
            waited.exclude(pid)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()


LOOK_S: Final = 0.5
_ANSWER_S: Final = 30.0


class Watch:
    """Looks after a board while a caller waits for it, and asks it at most twice a second.

    `name`: the board's in errors. `waits_for_usb`: true where its program is to show up on USB. `answer_s`: how long
    its process may take to answer.
    """

    def __init__(
        self,
        control: ControlClient,
        name: str,
        waits_for_usb: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
        answer_s: float = _ANSWER_S,
    ) -> None:
        self._control = control
        self._name = name
        self._answer_s = answer_s
        self._waits_for_usb = waits_for_usb
        self._clock = clock
        self._next_s = 0.0

    def __call__(self) -> None:
        """Raises BoardError with the reason where the wait is in vain."""
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + LOOK_S
        try:
            status = self._control.call("status", Deadline(self._answer_s, self._name))
        except DeadlineExceeded:
            # No DeadlineExceeded: the caller waits for something else.
            raise BoardError(
                f"{self._name}: the emulated board's process has not answered for {self._answer_s:g} s; it hangs, end"
                " and restart it"
            ) from None
        self.judge(status)

    def judge(self, status: dict[str, Any]) -> None:
        """Judge a board's `status`."""
        if status["fault"]:
            raise BoardError(f"{self._name}: stopped: {status['fault']}")
        if self._waits_for_usb() and (why := off_bus(status["off_bus_us"], status["usb"])) is not None:
            raise BoardError(f"{self._name}: {why}")


Ask = Callable[..., dict[str, Any]]
"""`DeskBoard.control`, or the `call` of a `ControlClient`."""


class Controls:
    """Pins are numbers or names: 15, `GP15`.

    The methods raise BoardError, and ValueError for an unknown pin. Simulated time goes on while they are answered.
    """

    def __init__(self, ask: Ask, name: str) -> None:
        self._ask = ask
        self._name = name

    def set_pin(self, pin: int | str, high: bool | None) -> None:
        """Hold the pin high or low, as a button does, or let go of it (None)."""
        self.set_voltage(pin, None if high is None else HIGH_V if high else 0.0)

    def set_voltage(self, pin: int | str, volts: float | None) -> None:
        """Hold the pin at a voltage, which the ADC reads on GP26 to GP29; a program reads high from 1.65 V on."""
        self._pins(hold={pin_number(pin): volts})

    def voltage(self, pin: int | str) -> float | None:
        """Return the voltage at which the pin is held, None where it is not."""
        volts: float | None = self._pins()["held"].get(str(pin_number(pin)))
        return volts

    def pin(self, pin: int | str) -> bool:
        """Return the pin's level now."""
        return bool(self._pins()["levels"] >> pin_number(pin) & 1)

    def wire(self, a: int | str, b: int | str) -> None:
        self._pins(wire=[(pin_number(a), pin_number(b))])

    def unwire(self, a: int | str, b: int | str) -> None:
        self._pins(unwire=[(pin_number(a), pin_number(b))])

    def wires(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in self._pins()["wires"]]

    def uart_write(self, uart: int, data: bytes) -> int:
        """Send to UART 0 or 1 at its own speed; returns how many bytes were taken."""
        sent = base64.b64encode(data).decode("ascii")
        return int(self._call("uart_write", uart=uart, data=sent)["taken"])

    def uart_read(self, uart: int) -> bytes:
        """Return what UART 0 or 1 has sent since the last call."""
        return base64.b64decode(self._call("uart_read", uart=uart)["data"])

    def _pins(self, **changes: Any) -> dict[str, Any]:
        return self._call("pins", **changes)

    def _call(self, op: str, **arguments: Any) -> dict[str, Any]:
        return self._ask(op, Deadline(_ANSWER_S, self._name), **arguments)
