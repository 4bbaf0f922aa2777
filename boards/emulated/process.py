"""The process of one emulated board: simulates it and shows its USB side as a serial port and a volume."""

from __future__ import annotations

import base64
import hashlib
import os
import queue
import select
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from portbench._engine import EngineError, Machine
from portbench.boards.bounded_log import BoundedLog
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.bootrom import bootrom
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.control import ControlServer, Request
from portbench.boards.emulated.cpu_faults import CpuFaultLog
from portbench.boards.emulated.faults import Fault, FaultInjector
from portbench.boards.emulated.gdb_server import GdbServer
from portbench.boards.emulated.holder import Holder
from portbench.boards.emulated.liveness import Liveness, no_frame
from portbench.boards.emulated.pacing import Pacer
from portbench.boards.emulated.serial_port import SerialPort
from portbench.boards.emulated.volume_folder import Torn, VolumeFolder
from portbench.boards.registry import EmulatedState, write_state
from portbench.complaint import first_complaint
from portbench.server.simulated_pc import Part, SimulatedPc, part_in
from portbench.workloads import UnknownWorkload

_FLUSH_US = 1_500_000.0
_BOOT_US = 12_000_000.0
_COPY_US = 1_000_000.0
_SLICE_US = 2000.0
"""Simulated time between two looks at the host's side."""
_CLOSE_SLICE_US = 50.0
"""The same while a fault is to strike in the middle of something."""
_SRAM = 0x20000000
_SRAM_BYTES = 264 << 10
_TYPED_BYTES = 2048
"""Typed bytes that may wait in the board's USB pipe."""
_SYNC_INTERVAL_S = 0.05
_BOOTLOADER_BAUD = 1200
_GDB_WAIT_S = 0.02


class BoardProcess:
    """One board in `folder`, which nobody else uses.

    `notes` get one line per event. `flash` is what the flash holds at first; blank flash starts the boot loader.
    """

    def __init__(
        self,
        name: str,
        definition: BoardDefinition,
        config: EmulatedConfig,
        folder: Path,
        notes: BoundedLog,
        flash: bytes = b"",
    ) -> None:
        self._name = name
        self._definition = definition
        self._config = config
        self._folder = folder
        self._notes = notes
        self._log = log = notes.line
        self._machine = Machine(bootrom(), flash, config.settings(definition))
        self._part = Part()
        self._pacer = Pacer(realtime=bool(config.bridge))
        self._port: SerialPort | None = None
        self._last_port: str | None = None
        self._rename_port = False
        self._absent_until_s = 0.0
        self._refused: tuple[tuple[str, ...], bool] | None = None
        self._tear_per_mille: int | None = None
        self._volume: VolumeFolder | None = None
        self._automount = True
        self._generation = 0
        self._earlier_generations = 0
        self._bootsel = False
        self._kept_flash = b""
        self._copied_us = -_COPY_US
        self._baud = 0
        self._next_sync_s = 0.0
        self._closing = False
        self._fault: str | None = None
        self._finished: dict[str, Any] | None = None
        self._watch = Console(self._hear)
        self._run_started_s = time.monotonic()
        self._cpu_faults = CpuFaultLog(log)
        self._liveness = Liveness()
        self._networked = False
        self._gdb: GdbServer | None = None
        self._faults = FaultInjector(self, log, time.monotonic)
        for fault in config.board_faults:
            self._faults.arm(fault)
        self._start_lan()
        self._control = ControlServer(folder)
        self._publish()

    def run(self, holder: Holder | None = None) -> None:
        """Until asked to end, or until `holder`, the process that the board was started for, has ended."""
        try:
            while not self._closing and not (holder is not None and holder.gone):
                self._step()
        finally:
            self.close()

    def close(self) -> None:
        self._control.close()
        if self._gdb is not None:
            self._gdb.close()
        if self._port is not None:
            self._port.close()
        self._notes.end()

    def _start_lan(self) -> None:
        served = self._definition.network is not None and not self._config.bridge
        port = self._config.server_port if served else None
        self._pc = SimulatedPc(self._machine, port, self._config.turnaround_us, self._part)

    def _power_up(self, bootsel: bool, flash: bytes | None = None) -> None:
        """Restart everything at simulated time 0. `flash`: other contents than it has now."""
        self._drop_port()
        self._drop_volume()
        # The machine counts from the start again; a PC does not.
        self._earlier_generations += self._machine.usb()["generation"]
        if flash is None:
            self._machine.power_cycle(bootsel)
        else:
            self._machine = Machine(bootrom(), flash, self._config.settings(self._definition), bootsel)
            if self._gdb is not None:
                self._gdb.hang_up("the board has another flash now")
        self._bootsel = bootsel
        self._fault = None
        self._finished = None
        self._generation = 0
        self._watch = Console(self._hear)
        self._run_started_s = time.monotonic()
        self._pacer.restart()
        self._copied_us = -_COPY_US
        self._start_lan()
        self._cpu_faults.powered_up()
        self._liveness.powered_up()
        self._notes.restart()
        self._faults.powered_up()

    def _step(self) -> None:
        self._serve_requests(0.0)
        if self._fault is not None:
            self._serve_requests(0.2)
            return
        self._advance()
        stats = self._machine.stats()
        time_us = self._machine.time_us
        # Nobody can do anything with a board before the PC has enumerated it, nor while it programs an image.
        hurry = time_us < self._copied_us + _COPY_US or (time_us < _BOOT_US and not self._machine.usb()["configured"])
        self._wait(self._pacer.delay_s(time_us, stats["instructions"], stats["clk_sys_hz"], hurry=hurry))

    def _advance(self) -> None:
        """One slice of simulated time, and what it brought; none while gdb has the board stopped."""
        if self._gdb is not None:
            self._gdb.serve(self._machine, 0.0 if self._gdb.running else _GDB_WAIT_S)
            if not self._gdb.running:
                return
        self._type()
        self._faults.look()
        self._come_back()
        slice_us = _CLOSE_SLICE_US if self._faults.watches_closely else _SLICE_US
        try:
            stop = self._machine.run(self._machine.time_us + slice_us)
        except EngineError as error:
            self._fault = str(error)
            self._log(self._fault)
            return
        if self._gdb is not None:
            self._gdb.ran(self._machine, stop)
        if locked_up := self._cpu_faults.look(self._machine):
            self._liveness.locked_up(self._machine.time_us, locked_up)
        if stop.startswith("reset"):
            self._log(stop)
            self._liveness.was_reset(self._machine.time_us, stop.removeprefix("reset: "))
            if self._bootsel:
                # Whoever held the button to get into the boot loader lets go, or the image would never start.
                self._power_up(bootsel=False)
            # The run that nothing of the host's was to disturb is over.
            self._automount = True
        self._look_at_usb()
        self._print()
        self._note_result()
        self._sync_volume()

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
                self._machine.console_write(self._faults.typing(typed))
        if self._port is None:
            return
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
            self._liveness.printed()
        self._faults.printing(data, self._show)
        if self._port is not None:
            self._port.flush()

    def _show(self, data: bytes) -> None:
        if self._port is not None:
            self._port.write(data)

    def _hear(self, line: str) -> None:
        self._pc.heard(line, self._machine.console_time_us)

    def _note_result(self) -> None:
        """Takes the figures at the moment of the result, before anything the host does can move them."""
        if self._finished is None and (self._watch.result is not None or self._pc.reported):
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
        return {"stats": stats, "sessions": self._sessions()}

    def _sessions(self) -> list[dict[str, Any]]:
        return [asdict(session) for session in self._pc.sessions()]

    def _look_at_usb(self) -> None:
        events = self._machine.usb_events()
        if not events:
            return
        for time_us, what, detail in events:
            self._log(f"{time_us / 1e6:.6f} s usb {what} {detail}".rstrip())
        usb = self._machine.usb()
        self._liveness.enumerated(self._machine.time_us, usb["configured"])
        if usb["generation"] != self._generation or not usb["configured"]:
            fresh = usb["configured"] and usb["generation"] != self._generation
            self._generation = usb["generation"]
            self._drop_port()
            self._drop_volume()
            late_ms = self._faults.enumerated() if fresh else 0
            if late_ms:
                self._be_absent(late_ms)
        self._appear(usb)

    def _appear(self, usb: dict[str, Any]) -> None:
        """Show the port and the drive that the board has now."""
        if self._absent:
            return
        if usb["configured"] and usb["console"] and self._port is None:
            self._port = SerialPort(self._last_port if self._rename_port else None)
            self._rename_port = False
            self._last_port = self._port.path
            self._baud = self._port.take_baud() or 0
        if usb["storage_ready"] and self._automount:
            self._mount()
        elif self._volume is not None and not usb["storage_ready"]:
            self._drop_volume()
        self._publish()

    @property
    def _absent(self) -> bool:
        """The PC does not see the board, whatever the board does."""
        return time.monotonic() < self._absent_until_s

    def _be_absent(self, duration_ms: int) -> None:
        self._absent_until_s = time.monotonic() + duration_ms / 1e3
        self._publish()

    def _come_back(self) -> None:
        if self._absent_until_s and not self._absent:
            self._absent_until_s = 0.0
            self._appear(self._machine.usb())

    def _mount(self) -> None:
        if self._volume is not None or self._absent:
            return
        try:
            self._volume = VolumeFolder(self._machine, self._folder, self._log)
        except OSError as error:
            self._log(f"the board's drive cannot be mounted: {error}")
            return
        self._volume.tear_per_mille, self._tear_per_mille = self._tear_per_mille, None
        if self._refused is not None:
            self._volume.refuse(self._refused[0], full=self._refused[1])

    def _sync_volume(self) -> None:
        now = time.monotonic()
        if self._volume is None or now < self._next_sync_s:
            return
        self._next_sync_s = now + _SYNC_INTERVAL_S
        self._copy(self._volume.sync)

    def _copy(self, bring: Callable[[], object]) -> None:
        try:
            if bring():
                self._copied_us = self._machine.time_us
        except Torn:
            self.lose_power()
        except OSError as error:
            # A boot loader that has its whole image goes away in the middle of the copy.
            self._log(f"the board's drive: {error}")

    def _drop_port(self) -> None:
        if self._port is not None:
            self._port.flush()
            self._port.close()
            self._port = None

    def _drop_volume(self) -> None:
        if self._volume is not None:
            self._volume.remove()
            self._volume = None
            self._faults.drive_gone()

    def _publish(self) -> None:
        usb: dict[str, Any] = {"generation": 0} if self._absent else self._machine.usb()
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
        except ValidationError as error:
            request.fail(f"{request.op}: {first_complaint(error)}")
        except (EngineError, UnknownWorkload, ValueError, KeyError, TypeError, OSError) as error:
            request.fail(f"{request.op}: {error}")

    def _op_status(self, request: Request) -> None:
        """`finished`: the run has its result, and `figures` are those of that moment."""
        request.answer(
            time_us=self._machine.time_us,
            fault=self._fault or self._stuck() or self._pc.given_up(self._machine.time_us),
            finished=self._finished is not None,
            off_bus_us=self._liveness.off_bus_us(self._machine.time_us),
            usb=self._machine.usb(),
            struck=self._faults.struck,
        )

    def _stuck(self) -> str | None:
        """What the run that is on will never get over."""
        now_us = self._machine.time_us
        if (stuck := self._liveness.stuck(now_us)) is not None or self._finished is not None:
            return stuck
        network = self._definition.network
        if not self._networked or network is None:
            return None
        return no_frame(now_us, network.chip, self._machine.stats()["chip_selects"])

    def _op_power_cycle(self, request: Request) -> None:
        """Restart at simulated time 0. `measured`: flat out, and nothing of the host's reaches the board by itself.
        `networked`: for a client that will be of no use before it has spoken to its Ethernet chip.

        `flash`: `blank` as from the factory, or as it was `kept`; else as it is.
        """
        measured = bool(request.arguments.get("measured"))
        self._config = replace(self._config, **request.arguments.get("config", {}))
        self._machine.configure(self._config.settings(self._definition))
        contents = {None: None, "blank": b"", "kept": self._kept_flash}
        self._power_up(bool(request.arguments.get("bootsel")), contents[request.arguments.get("flash")])
        self._automount = not measured
        self._networked = measured and bool(request.arguments.get("networked"))
        self._pacer.flat_out = measured and not self._config.bridge
        if request.arguments.get("trace"):
            self._machine.trace_start(**request.arguments["trace"])
        self._publish()
        request.answer()

    def _op_keep_flash(self, request: Request) -> None:
        """Remember what flash holds now, for a power cycle that goes back to it."""
        self._kept_flash = self._machine.flash()
        request.answer()

    def _op_figures(self, request: Request) -> None:
        """The figures at the end of the run (`finished`), else those of now."""
        finished = self._finished is not None
        request.answer(finished=finished, fault=self._fault, **(self._finished or self._figures()))

    def _op_serve(self, request: Request) -> None:
        """`workload`, `settings`: what the simulated PC takes part in from the next connection on."""
        self._part = part_in(request.arguments["workload"], request.arguments["settings"])
        self._pc.take(self._part)
        request.answer()

    def _op_network(self, request: Request) -> None:
        """What the board is connected to: the simulated PC, or this machine's sockets."""
        config = self._config
        request.answer(
            bridged=bool(config.bridge),
            pc_ip=str(config.pc_ip),
            server_port=config.server_port,
            turnaround_us=config.turnaround_us,
        )

    def _op_sessions(self, request: Request) -> None:
        """The clients that the simulated PC's server has had since the power cycle."""
        request.answer(sessions=self._sessions())

    def _op_flash(self, request: Request) -> None:
        """What the flash holds, base64."""
        request.answer(flash=base64.b64encode(self._machine.flash()).decode("ascii"))

    def _op_sync(self, request: Request) -> None:
        """Returns when the drive has what is in its folder and the board has had the time to bring it to flash.

        CircuitPython keeps what was written last in RAM for a second (its file system's flush interval): who cuts the
        power before that loses it, on a real board too. `drive_only`: more is to follow, do not wait for flash.
        """
        if self._volume is not None:
            self._copy(self._volume.flush)
            wait_us = 0.0 if request.arguments.get("drive_only") else _FLUSH_US
            until_us = self._machine.time_us + wait_us
            while self._machine.time_us < until_us and self._fault is None:
                self._advance()
        request.answer()

    def _op_arm(self, request: Request) -> None:
        """`fault`: see `boards.emulated.faults.Fault`."""
        self._faults.arm(Fault.from_settings(request.arguments["fault"]))
        request.answer()

    def _op_disarm(self, request: Request) -> None:
        """Answers with what had struck since the last time."""
        struck = list(self._faults.struck)
        self._faults.disarm()
        self._absent_until_s = min(self._absent_until_s, time.monotonic())
        self._tear_per_mille = None
        self._rename_port = False
        if self._volume is not None:
            self._volume.tear_per_mille = None
        request.answer(struck=struck)

    def _op_cable(self, request: Request) -> None:
        self._machine.set_cable(bool(request.arguments["plugged"]))
        request.answer()

    def _op_faults(self, request: Request) -> None:
        self._machine.set_lan_faults(request.arguments["faults"])
        request.answer()

    def _op_trace(self, request: Request) -> None:
        records, dropped = self._machine.trace_take()
        request.answer(records=records, dropped=dropped)

    def _op_gdb(self, request: Request) -> None:
        """Answers with the port at which gdb finds the board: `port`, or a free one for 0."""
        if self._gdb is None:
            self._gdb = GdbServer(request.arguments["port"], self._log)
        request.answer(port=self._gdb.port, hint=self._gdb.hint)

    def _op_quit(self, request: Request) -> None:
        self._closing = True
        request.answer()

    # What faults do to the board, see `boards.emulated.faults.Afflicted`.

    @property
    def time_us(self) -> float:
        return self._machine.time_us

    @property
    def answered(self) -> int:
        return self._pc.answered

    def leave_bus(self, duration_ms: int) -> None:
        self._drop_port()
        self._drop_volume()
        self._earlier_generations += 1
        self._be_absent(duration_ms)
        self._come_back()

    def crash(self) -> None:
        self._machine.write_sram(_SRAM, b"\xff" * _SRAM_BYTES)

    def reset_cores(self) -> None:
        self._machine.reset_cores()

    def lose_power(self) -> None:
        self._power_up(bootsel=False)
        self._publish()

    def refuse_files(self, names: tuple[str, ...], *, full: bool) -> None:
        self._refused = (names, full)
        if self._volume is not None:
            self._volume.refuse(names, full=full)

    def accept_files(self) -> None:
        self._refused = None
        if self._volume is not None:
            self._volume.accept()

    def tear_next_copy(self, per_mille: int) -> None:
        if self._volume is not None:
            self._volume.tear_per_mille = per_mille
        else:
            self._tear_per_mille = per_mille

    def rename_next_port(self) -> None:
        self._rename_port = True

    def plug_cable(self, plugged: bool) -> None:
        self._machine.set_cable(plugged)

    def disturb_lan(self, settings: dict[str, Any]) -> None:
        self._machine.set_lan_faults(settings)

    def kill_server(self) -> None:
        self._pc.kill()
