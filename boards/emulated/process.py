"""The process of one emulated board: simulates it and shows its USB side as a serial port and a volume."""

from __future__ import annotations

import hashlib
import os
import queue
import select
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from boards._engine import EngineError, Machine
from boards.console import Console
from boards.definition import BoardDefinition
from boards.emulated.bootrom import bootrom
from boards.emulated.config import EmulatedConfig, LanFaults
from boards.emulated.control import ControlServer, Request
from boards.emulated.lan_server import LanServer
from boards.emulated.pacing import Pacer
from boards.emulated.registry import EmulatedState, write_state
from boards.emulated.serial_port import SerialPort
from boards.emulated.volume_folder import VolumeFolder

_SLICE_US = 2000.0
"""Simulated time between two looks at the host's side."""
_TYPED_BYTES = 2048
"""Typed bytes that may wait in the board's USB pipe."""
_SYNC_INTERVAL_S = 0.05
_BOOTLOADER_BAUD = 1200


class BoardProcess:
    """One board in `folder`, which is made and, at the end, removed.

    `log` gets one line per event. `flash` is what the flash holds at first; blank flash starts the boot loader.
    """

    def __init__(
        self,
        name: str,
        definition: BoardDefinition,
        config: EmulatedConfig,
        folder: Path,
        log: Callable[[str], None],
        flash: bytes = b"",
    ) -> None:
        self._name = name
        self._definition = definition
        self._config = config
        self._folder = folder
        self._log = log
        folder.mkdir(parents=True, mode=0o700)
        self._machine = Machine(bootrom(), flash, config.settings(definition))
        self._server = LanServer()
        self._pacer = Pacer(realtime=bool(config.bridge))
        self._port: SerialPort | None = None
        self._volume: VolumeFolder | None = None
        self._automount = True
        self._generation = 0
        self._earlier_generations = 0
        self._bootsel = False
        self._baud = 0
        self._next_sync_s = 0.0
        self._closing = False
        self._fault: str | None = None
        self._finished: dict[str, Any] | None = None
        self._watch = Console()
        self._run_started_s = time.monotonic()
        self._start_lan()
        self._control = ControlServer(folder)
        self._publish()

    def run(self) -> None:
        """Until asked to end, or until the parent that holds the board is gone."""
        parent = os.getppid()
        try:
            while not self._closing and os.getppid() == parent:
                self._step()
        finally:
            self.close()

    def close(self) -> None:
        self._control.close()
        if self._port is not None:
            self._port.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start_lan(self) -> None:
        self._server = LanServer()
        if not self._config.bridge:
            self._machine.listen(self._config.server_port, self._server)

    def _power_up(self, bootsel: bool) -> None:
        """Restart everything at simulated time 0."""
        self._drop_port()
        self._drop_volume()
        # The machine counts from the start again; a PC does not.
        self._earlier_generations += self._machine.usb()["generation"]
        self._machine.power_cycle(bootsel)
        self._bootsel = bootsel
        self._fault = None
        self._finished = None
        self._generation = 0
        self._watch = Console()
        self._run_started_s = time.monotonic()
        self._pacer.restart()
        self._start_lan()

    def _step(self) -> None:
        self._serve_requests(0.0)
        if self._fault is not None:
            self._serve_requests(0.2)
            return
        self._type()
        try:
            stop = self._machine.run(self._machine.time_us + _SLICE_US)
        except EngineError as error:
            self._fault = str(error)
            self._log(self._fault)
            return
        if stop.startswith("reset"):
            self._log(stop)
            if self._bootsel:
                # Whoever held the button to get into the boot loader lets go, or the image would never start.
                self._power_up(bootsel=False)
            # The run that nothing of the host's was to disturb is over.
            self._automount = True
        self._look_at_usb()
        self._print()
        self._note_result()
        self._sync_volume()
        stats = self._machine.stats()
        self._wait(self._pacer.delay_s(self._machine.time_us, stats["instructions"], stats["clk_sys_hz"]))

    def _wait(self, seconds: float) -> None:
        """Pauses, but wakes at once when somebody types or asks something."""
        if seconds <= 0.0005:
            return
        if self._port is not None:
            select.select([self._port], [], [], min(seconds, 0.02))
        else:
            self._serve_requests(min(seconds, 0.02))

    def _type(self) -> None:
        if self._port is None:
            return
        if self._machine.console_unsent < _TYPED_BYTES:
            typed = self._port.read()
            if typed:
                self._end_measured()
                self._machine.console_write(typed)
        baud = self._port.take_baud()
        if baud is not None and baud != self._baud:
            self._baud = baud
            if baud == _BOOTLOADER_BAUD:
                self._end_measured()
                # What opening the port at this speed and closing it again does on a PC.
                self._machine.set_baud(baud)
                self._machine.console_close()

    def _print(self) -> None:
        data = self._machine.console_read()
        if data:
            self._watch.feed(data)
        if self._port is not None:
            self._port.write(data)

    def _note_result(self) -> None:
        """Takes the figures at the moment of the result, before anything the host does can move them."""
        if self._finished is None and (self._watch.result is not None or self._server.reported):
            self._finished = self._figures()
            self._end_measured()

    def _end_measured(self) -> None:
        """The run is over, or somebody does not wait for its end: a PC's usual behaviour from now on."""
        self._pacer.flat_out = False
        if self._automount:
            return
        self._automount = True
        if self._machine.usb()["storage_ready"]:
            self._mount()
            self._publish()

    def _figures(self) -> dict[str, Any]:
        stats = dict(self._machine.stats())
        stats["simulated_us"] = self._machine.time_us
        stats["host_s"] = time.monotonic() - self._run_started_s
        stats["flash_sha256"] = hashlib.sha256(self._machine.flash()).hexdigest()
        return {"stats": stats, "sessions": self._server.sessions()}

    def _look_at_usb(self) -> None:
        events = self._machine.usb_events()
        if not events:
            return
        for time_us, what, detail in events:
            self._log(f"{time_us / 1e6:.6f} s usb {what} {detail}".rstrip())
        usb = self._machine.usb()
        if usb["generation"] != self._generation or not usb["configured"]:
            self._generation = usb["generation"]
            self._drop_port()
            self._drop_volume()
        if usb["configured"] and usb["console"] and self._port is None:
            self._port = SerialPort()
            self._baud = self._port.take_baud() or 0
        self._look_at_storage(usb)

    def _look_at_storage(self, usb: dict[str, Any]) -> None:
        if usb["storage_ready"] and self._automount:
            self._mount()
        elif self._volume is not None and not usb["storage_ready"]:
            self._drop_volume()
        self._publish()

    def _mount(self) -> None:
        if self._volume is not None:
            return
        try:
            self._volume = VolumeFolder(self._machine, self._folder, self._log)
        except OSError as error:
            self._log(f"the board's drive cannot be mounted: {error}")

    def _sync_volume(self) -> None:
        now = time.monotonic()
        if self._volume is None or now < self._next_sync_s:
            return
        self._next_sync_s = now + _SYNC_INTERVAL_S
        try:
            self._volume.sync()
        except OSError as error:
            # A boot loader that has its whole image goes away in the middle of the copy.
            self._log(f"{self._volume.label}: {error}")

    def _drop_port(self) -> None:
        if self._port is not None:
            self._port.flush()
            self._port.close()
            self._port = None

    def _drop_volume(self) -> None:
        if self._volume is not None:
            self._volume.remove()
            self._volume = None

    def _publish(self) -> None:
        usb = self._machine.usb()
        write_state(
            self._folder,
            EmulatedState(
                name=self._name,
                pid=os.getpid(),
                definition=self._definition.id,
                generation=self._earlier_generations + usb["generation"],
                usb_vid=usb.get("vid"),
                usb_pid=usb.get("pid"),
                serial_number=usb.get("serial"),
                manufacturer=usb.get("manufacturer"),
                product=usb.get("product"),
                port=self._port.path if self._port else None,
                volume=str(self._volume.path) if self._volume else None,
                volume_label=self._volume.label if self._volume else None,
            ),
        )

    def _serve_requests(self, wait_s: float) -> None:
        try:
            request = self._control.requests.get(timeout=wait_s) if wait_s else self._control.requests.get_nowait()
        except queue.Empty:
            return
        handler = getattr(self, f"_op_{request.op}", None)
        if handler is None:
            request.fail(f"unknown request {request.op!r}")
            return
        try:
            handler(request)
        except (EngineError, ValueError, KeyError, TypeError, OSError) as error:
            request.fail(f"{request.op}: {error}")

    def _op_status(self, request: Request) -> None:
        """`finished`: the run has its result, and `figures` are those of that moment."""
        request.answer(
            time_us=self._machine.time_us,
            fault=self._fault,
            finished=self._finished is not None,
            usb=self._machine.usb(),
        )

    def _op_power_cycle(self, request: Request) -> None:
        """Restart at simulated time 0. `measured`: flat out, and nothing of the host's reaches the board by itself."""
        measured = bool(request.arguments.get("measured"))
        changes = request.arguments.get("config", {})
        if "faults" in changes:
            faults = changes["faults"]
            changes["faults"] = LanFaults(**{**faults, "down_us": tuple(map(tuple, faults.get("down_us", ())))})
        self._config = replace(self._config, **changes)
        self._machine.configure(self._config.settings(self._definition))
        self._power_up(bool(request.arguments.get("bootsel")))
        self._automount = not measured
        self._pacer.flat_out = measured and not self._config.bridge
        if request.arguments.get("trace"):
            self._machine.trace_start(**request.arguments["trace"])
        if request.arguments.get("spi_log"):
            self._machine.spi_log(True)
        self._publish()
        request.answer()

    def _op_figures(self, request: Request) -> None:
        """The figures at the end of the run (`finished`), else those of now."""
        finished = self._finished is not None
        request.answer(finished=finished, fault=self._fault, **(self._finished or self._figures()))

    def _op_sync(self, request: Request) -> None:
        """Returns when the drive has what is in its folder, as a real drive's flush does."""
        if self._volume is not None:
            self._volume.flush()
        request.answer()

    def _op_cable(self, request: Request) -> None:
        self._machine.set_cable(bool(request.arguments["plugged"]))
        request.answer()

    def _op_faults(self, request: Request) -> None:
        self._machine.set_lan_faults(request.arguments["faults"])
        request.answer()

    def _op_spi_log(self, request: Request) -> None:
        frames = [(*frame[:6], frame[6].hex()) for frame in self._machine.spi_log_take()]
        request.answer(frames=frames)

    def _op_trace(self, request: Request) -> None:
        records, dropped = self._machine.trace_take()
        request.answer(records=records, dropped=dropped)

    def _op_quit(self, request: Request) -> None:
        self._closing = True
        request.answer()
