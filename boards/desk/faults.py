"""Faults of a board, made on purpose: each strikes where it would on a real board, at its serial port, drive, power,
memory or cable. The code that drives the board does not know of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import ConfigDict, Field, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from portbench.errors import first_complaint

if TYPE_CHECKING:
    from portbench.boards.desk.process import BoardProcess

_Natural = Annotated[StrictInt, Field(ge=0)]


class FaultKind(StrEnum):
    """`duration_ms` of the USB side is host time, that of the guest's console and the cable simulated time.

    A fault with a duration of 0 lasts until the next power-up, unless said otherwise.
    """

    SERIAL_DROPPED = "serial-dropped"
    """The board leaves the bus in the middle of what it prints and enumerates again after `duration_ms`."""
    BYTES_LOST = "bytes-lost"
    """The next `amount` bytes that the board prints never arrive."""
    TYPED_LOST = "typed-lost"
    """The next `amount` bytes that the PC types never arrive."""
    CONSOLE_SILENT = "console-silent"
    """The console takes and gives nothing, as when a program keeps the interpreter from its USB task."""
    GUEST_CRASH = "guest-crash"
    """All of SRAM is overwritten: the cores take a hard fault, and another in its handler."""
    CORES_RESET = "cores-reset"
    """Both cores start anew; the rest of the chip and the W5500 stay as they are."""
    POWER_LOST = "power-lost"
    """The board's power fails for a moment, and it starts from flash."""
    VOLUME_READ_ONLY = "volume-read-only"
    """The drive refuses the files in `names`. Lasts until it has been mounted anew (0) or for `duration_ms`."""
    VOLUME_FULL = "volume-full"
    """The drive has no room for the files in `names`. Lasts as VOLUME_READ_ONLY does."""
    VOLUME_TORN = "volume-torn"
    """Power fails when `amount` thousandths of the next file have reached the drive."""
    ENUMERATION_SLOW = "enumeration-slow"
    """The next enumeration is seen `duration_ms` late."""
    PORT_RENAMED = "port-renamed"
    """The next serial port has another name than the last."""
    LINK_DOWN = "link-down"
    """The cable is out for `duration_ms`."""
    PACKETS_LOST = "packets-lost"
    """`amount` thousandths of all frames are lost, drawn from `seed`."""
    PACKETS_DELAYED = "packets-delayed"
    """Frames come up to `amount` microseconds late, drawn from `seed`."""
    SERVER_KILLED = "server-killed"
    """The PC's server is gone: a client that speaks to it gets a reset."""


class When(StrEnum):
    """The unit in which `after` counts."""

    NOW = "now"
    """Nothing: the fault strikes at once."""
    POWERED_US = "powered-us"
    """Microseconds of simulated time since power-up."""
    PRINTED = "printed"
    """Bytes the board has printed since the fault was armed."""
    TYPED = "typed"
    """Bytes typed since the fault was armed."""
    ANSWERED = "answered"
    """Exchanges of the simulated PC's server since the fault was armed, or since power-up where that was later."""
    ENUMERATED = "enumerated"
    """USB enumerations since the fault was armed."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Fault:
    """One fault, which strikes once. Raises ValueError for values that do not fit."""

    kind: FaultKind
    when: When = When.NOW
    after: _Natural = 0
    duration_ms: _Natural = 0
    amount: _Natural = 0
    names: tuple[StrictStr, ...] = ("firmware.uf2",)
    seed: _Natural = 0

    def __post_init__(self) -> None:
        if self.amount > 1000 and self.kind in (FaultKind.VOLUME_TORN, FaultKind.PACKETS_LOST):
            raise ValueError(f"amount is {self.amount}, of 1000 thousandths")

    def __str__(self) -> str:
        words: list[str] = [str(self.kind)]
        if self.when is not When.NOW:
            words.append(f"after {self.after} {self.when}")
        if self.amount:
            words.append(f"amount {self.amount}")
        if self.duration_ms:
            words.append(f"for {self.duration_ms} ms")
        return ", ".join(words)

    def settings(self) -> dict[str, Any]:
        """Return it as JSON that `from_settings` takes."""
        return dict(_FAULT.dump_python(self, mode="json"))

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Fault:
        """Read a fault. Raises ValueError, one line with the key, its value and the choices."""
        try:
            return _FAULT.validate_python(settings)
        except ValidationError as error:
            raise ValueError(f"fault {settings.get('kind')}: {first_complaint(error)}") from error


_FAULT: Final = TypeAdapter(Fault)
_ANSWERED_LOOK_US: Final = 50.0
"""Between looks for the next answer of the PC's server."""


@dataclasses.dataclass
class _Armed:
    fault: Fault
    printed: int
    typed: int
    enumerated: int
    answered: int


class FaultInjector:
    """Arms faults, counts the events that they wait for, and makes each strike once. `host_s`: the host's clock."""

    def __init__(self, board: BoardProcess, log: Callable[[str], None], host_s: Callable[[], float]) -> None:
        self._board = board
        self._log = log
        self._host_s = host_s
        self._armed: list[_Armed] = []
        self._printed = self._typed = self._enumerated = 0
        self._lose_printed = self._lose_typed = 0
        self._silent_until_us: float | None = None
        self._cable_in_us: float | None = None
        self._lan_calm_us: float | None = None
        self._files_until_s: float | None = None
        self._refuses_one_mount = False
        self.struck: list[str] = []
        """The kinds that have struck, in order."""

    def arm(self, fault: Fault) -> None:
        self._armed.append(_Armed(fault, self._printed, self._typed, self._enumerated, self._board.pc.answered))

    def disarm(self) -> None:
        """Forget the faults that have not struck, and end those that last."""
        self._armed.clear()
        self.struck.clear()
        self._lose_printed = self._lose_typed = 0
        self._silent_until_us = None
        if self._cable_in_us is not None:
            self._plug_in()
        if self._lan_calm_us is not None:
            self._calm()
        self._end_refusal()

    @property
    def next_look_us(self) -> float:
        """Simulated time until a fault is due or over, or may be; infinite if none waits for such a moment."""
        now_us = self._board.machine.time_us
        looks = [end - now_us for end in (self._cable_in_us, self._lan_calm_us) if end is not None]
        for armed in self._armed:
            if armed.fault.kind is FaultKind.ENUMERATION_SLOW:
                continue
            if armed.fault.when is When.POWERED_US:
                looks.append(self._left(armed))
            elif armed.fault.when is When.ANSWERED:
                looks.append(_ANSWERED_LOOK_US)
        return min(looks, default=float("inf"))

    def look(self) -> None:
        """Strike with the faults that are due, and end those that are over."""
        now_us = self._board.machine.time_us
        if self._silent_until_us is not None and now_us >= self._silent_until_us:
            self._silent_until_us = None
        if self._cable_in_us is not None and now_us >= self._cable_in_us:
            self._plug_in()
        if self._lan_calm_us is not None and now_us >= self._lan_calm_us:
            self._calm()
        if self._files_until_s is not None and self._host_s() >= self._files_until_s:
            self._end_refusal()
        for armed in [armed for armed in self._armed if self._left(armed) <= 0]:
            if armed in self._armed:
                self._armed.remove(armed)
                self._strike(armed.fault)

    def printing(self, data: bytes, show: Callable[[bytes], None]) -> None:
        """Pass what the board printed to `show`, without the bytes that are lost, and strike in the middle of it."""
        while data:
            waits = [self._left(armed) for armed in self._armed if armed.fault.when is When.PRINTED]
            cut = int(min([left for left in waits if left > 0] + [len(data)]))
            head, data = data[:cut], data[cut:]
            self._printed += len(head)
            lost = min(self._lose_printed, len(head))
            self._lose_printed -= lost
            if self._silent_until_us is None:
                show(head[lost:])
            self.look()

    def typing(self, data: bytes) -> bytes:
        """Return the part of the typed bytes that arrives."""
        self._typed += len(data)
        self.look()
        lost = min(self._lose_typed, len(data))
        self._lose_typed -= lost
        return data[lost:] if self._silent_until_us is None else b""

    def enumerated(self) -> int:
        """Count an enumeration, and return for how many milliseconds the PC does not notice it."""
        self._enumerated += 1
        self.look()
        for armed in self._armed:
            if armed.fault.kind is FaultKind.ENUMERATION_SLOW and self._is_for_this_enumeration(armed):
                self._armed.remove(armed)
                self._note(armed.fault)
                return armed.fault.duration_ms
        return 0

    def drive_gone(self) -> None:
        """End a refusal that was to last until the drive goes away."""
        if self._refuses_one_mount:
            self._end_refusal()

    def powered_up(self) -> None:
        """Count from simulated time 0 again; cable, LAN and console are as new."""
        self._silent_until_us = self._cable_in_us = self._lan_calm_us = None
        for armed in self._armed:
            armed.answered = 0

    def _is_for_this_enumeration(self, armed: _Armed) -> bool:
        waits = armed.fault.when is When.ENUMERATED
        return not waits or self._enumerated - armed.enumerated >= max(armed.fault.after, 1)

    def _left(self, armed: _Armed) -> float:
        """Return how many of its units are left until the fault strikes."""
        fault = armed.fault
        if fault.kind is FaultKind.ENUMERATION_SLOW:
            return 1.0  # strikes in `enumerated`
        if fault.when is When.POWERED_US:
            return fault.after - self._board.machine.time_us
        if fault.when is When.PRINTED:
            return fault.after - (self._printed - armed.printed)
        if fault.when is When.TYPED:
            return fault.after - (self._typed - armed.typed)
        if fault.when is When.ANSWERED:
            return max(fault.after, 1) - (self._board.pc.answered - armed.answered)
        if fault.when is When.ENUMERATED:
            return max(fault.after, 1) - (self._enumerated - armed.enumerated)
        return 0.0

    def _note(self, fault: Fault) -> None:
        self._log(f"fault: {fault}, at {self._board.machine.time_us / 1e6:.6f} s")
        self.struck.append(str(fault.kind))

    def _strike(self, fault: Fault) -> None:
        self._note(fault)
        board, machine, usb = self._board, self._board.machine, self._board.usb
        lasts_us = fault.duration_ms * 1000.0 if fault.duration_ms else float("inf")
        match fault.kind:
            case FaultKind.SERIAL_DROPPED:
                usb.leave_bus(fault.duration_ms)
            case FaultKind.BYTES_LOST:
                self._lose_printed += fault.amount
            case FaultKind.TYPED_LOST:
                self._lose_typed += fault.amount
            case FaultKind.CONSOLE_SILENT:
                self._silent_until_us = machine.time_us + lasts_us
            case FaultKind.GUEST_CRASH:
                start, count = machine.sram
                machine.write_sram(start, b"\xff" * count)
            case FaultKind.CORES_RESET:
                machine.reset_cores()
            case FaultKind.POWER_LOST:
                board.lose_power()
            case FaultKind.VOLUME_READ_ONLY | FaultKind.VOLUME_FULL:
                self._refuses_one_mount = fault.duration_ms == 0
                self._files_until_s = self._host_s() + fault.duration_ms / 1e3 if fault.duration_ms else None
                usb.refuse_files(fault.names, full=fault.kind is FaultKind.VOLUME_FULL)
            case FaultKind.VOLUME_TORN:
                usb.tear_next_copy(fault.amount)
            case FaultKind.PORT_RENAMED:
                usb.rename_next_port()
            case FaultKind.LINK_DOWN:
                self._cable_in_us = machine.time_us + lasts_us
                machine.set_cable(False)
            case FaultKind.PACKETS_LOST:
                self._lan_calm_us = machine.time_us + lasts_us
                lost = fault.amount
                machine.set_lan_faults(
                    {"seed": fault.seed, "loss_from_board_per_mille": lost, "loss_to_board_per_mille": lost}
                )
            case FaultKind.PACKETS_DELAYED:
                self._lan_calm_us = machine.time_us + lasts_us
                machine.set_lan_faults({"seed": fault.seed, "jitter_us": fault.amount})
            case FaultKind.SERVER_KILLED:
                board.pc.kill()
            case FaultKind.ENUMERATION_SLOW:
                raise AssertionError("strikes in enumerated()")

    def _plug_in(self) -> None:
        self._cable_in_us = None
        self._board.machine.set_cable(True)

    def _calm(self) -> None:
        self._lan_calm_us = None
        self._board.machine.set_lan_faults({})

    def _end_refusal(self) -> None:
        self._files_until_s = None
        self._refuses_one_mount = False
        self._board.usb.accept_files()
