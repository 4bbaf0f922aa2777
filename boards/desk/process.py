"""The process of one emulated board: it simulates the board and shows its USB side as a serial port and a folder."""

import os
import queue
import select
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from portbench_engine import Machine

from portbench.boards.console import BoundedLog
from portbench.boards.definition import BoardDefinition, board_address
from portbench.boards.desk.config import DeskConfig
from portbench.boards.desk.control import ControlServer
from portbench.boards.desk.faults import FaultInjector
from portbench.boards.desk.flash_file import FlashFile
from portbench.boards.desk.forwards import SLICE_PS as SERVING_SLICE_PS
from portbench.boards.desk.forwards import Forwards, parse_rule
from portbench.boards.desk.operations import carry_out
from portbench.boards.desk.pacer import Pace, Pacer
from portbench.boards.desk.serial_port import UartPorts
from portbench.boards.desk.stand_in import StandIn
from portbench.boards.desk.usb_side import UsbSide
from portbench.boards.emulated.client_watch import ClientWatch
from portbench.boards.emulated.gdb_server import GdbServer
from portbench.boards.emulated.liveness import Liveness
from portbench.boards.emulated.sd_card import CardSlot
from portbench.boards.emulated.simulation import PS_PER_US, SLICE_PS, Simulation, Step, ps
from portbench.boards.registry import EmulatedState, PortLinks, write_state
from portbench.errors import BoardError
from portbench.server.simulated_pc import Part

_BOOT_US = 12_000_000.0
_GDB_WAIT_S = 0.02


def _unsaved(error: OSError) -> str:
    return f"--flash: cannot be written ({error.strerror}); the file is as it was"


def _pace(config: DeskConfig) -> Pace:
    if config.bridge:
        return Pace.REALTIME
    return Pace.WALL_CLOCK if config.wall_clock else Pace.FREE


class BoardProcess:
    """One board in `folder`, which no other process uses.

    `notes` get one line per event. `flash`: the first contents of the flash; blank flash starts the boot loader.
    `flash_file`: has the contents instead, and keeps them. `links`: show the ports.
    Public names are for `operations`, which serve the control channel.
    """

    def __init__(
        self,
        name: str,
        definition: BoardDefinition,
        config: DeskConfig,
        folder: Path,
        notes: BoundedLog,
        flash: bytes = b"",
        flash_file: FlashFile | None = None,
        links: PortLinks | None = None,
    ) -> None:
        self._name = name
        self.definition = definition
        self.config = config
        self._folder = folder
        self._notes = notes
        self._log = log = notes.line
        self._flash_file = flash_file
        first = flash if flash_file is None else flash_file.contents
        self._slot = CardSlot(definition)
        self._links = links
        self._measures = False
        self._notice: str | None = None
        self.simulation = Simulation(first, self.settings(), log=log, complain=self._complain, stand_in=True)
        self.part = Part()
        self.pacer = Pacer(_pace(config))
        self.uart_ports = UartPorts() if config.uart_ports else None
        self._bootsel = False
        self._reports_before = 0
        self._result_lost = False
        self.client = ClientWatch(self.simulation, definition, config)
        self._gdb: GdbServer | None = None
        self.faults = FaultInjector(self, log, time.monotonic)
        self.usb = UsbSide(self.machine, folder, self, self.faults, log)
        self._start_lan()
        for fault in config.board_faults:
            self.faults.arm(fault)
        self.forwards = Forwards(self.machine, map(parse_rule, config.forward))
        self._control = ControlServer(folder)
        self.publish()

    @property
    def machine(self) -> Machine:
        return self.simulation.machine

    @property
    def liveness(self) -> Liveness:
        return self.simulation.liveness

    @property
    def fault(self) -> str | None:
        """Why the board has stopped for good."""
        return self.simulation.fault

    def run(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Run until `is_over`, or until a signal ends the process."""
        try:
            while not is_over():
                self._step()
        finally:
            self.close()

    def close(self) -> None:
        """Close everything. Raises BoardError where the flash or the card could not be saved."""
        self._control.close()
        if self._gdb is not None:
            self._gdb.close()
        if self._links is not None:
            self._links.remove()
        self.forwards.close()
        self.usb.close()
        if self.uart_ports is not None:
            self.uart_ports.close()
        self._notes.end()
        try:
            self._slot.close()
        except OSError as error:
            raise BoardError(f"SD card: its image cannot be written ({error.strerror}); it is as it was") from error
        finally:
            self._close_flash()

    def _close_flash(self) -> None:
        if self._flash_file is not None:
            try:
                self._flash_file.save(self.machine.flash())
            except OSError as error:
                raise BoardError(_unsaved(error)) from error
            finally:
                self._flash_file.close()

    def settings(self, *, fresh_card: bool = False) -> dict[str, Any]:
        """Return the engine's settings, with the card in the socket. Raises BoardUnavailable."""
        card = self._slot.settings(self.config.sd_card, fresh=fresh_card)
        return {**replace(self.config, sd_card=None).settings(self.definition), **card}

    def _start_lan(self) -> None:
        served = self.definition.network is not None and not self.config.bridge
        port = self.config.server_port if served else None
        self.pc = self.simulation.serve(port, self.config.turnaround_us, self.part)

    def power_up(self, bootsel: bool, flash: bytes | None = None, *, quiet: bool = False) -> None:
        """Restart everything at simulated time 0. `flash`: with these contents. `quiet`: as a PC that waits for the end
        of a run leaves it alone."""
        self.usb.power_off()
        self.simulation.power_up(bootsel=bootsel, flash=flash, settings=None if flash is None else self.settings())
        if flash is not None and self._gdb is not None:
            self._gdb.hang_up("the board has another flash now")
        self.usb.power_on(self.machine)
        if self._flash_file is not None:
            self._save(lambda file: file.restarted(self.machine.flash()))
        self._bootsel = bootsel
        self._notice = None
        self._reports_before = 0
        self._result_lost = False
        self.pacer.restart()
        self.usb.automount = not quiet
        self.pacer.flat_out = quiet and not self.config.bridge
        self._start_lan()
        self.forwards.powered_up(self.machine)
        self.client.powered_up(self.config)
        self._poll()
        self._notes.restart()
        self.faults.powered_up()
        self.publish()  # now, since an image that never gets to USB would leave the one before on the bus

    def _program(self, contents: bytes) -> None:
        self.power_up(bootsel=False, flash=contents)

    def _poll(self) -> None:
        if self._measures:
            self.pc.poll(self.machine, board_address(self.config.pc_ip), self.machine.time_us)

    def expect_client(self, networked: bool, *, started: bool, measures: bool) -> None:
        """Begin a run (`measures`) or end it. `networked`, `started`: see `ClientWatch.expect`."""
        self._measures = measures
        self._reports_before = self.pc.reports
        self._result_lost = False
        self.simulation.hear()
        self.client.expect(networked, started=started)
        self._poll()
        if not measures:
            self.disturbed()

    def _step(self) -> None:
        self._serve_requests(0.0)
        if self.fault is not None:
            self._serve_requests(0.2)
            return
        self._advance()
        stats = self.machine.stats()
        time_us = self.machine.time_us
        # The PC has to wait until it has enumerated the board, and while the board programs an image.
        hurry = self.usb.copies(time_us) or (time_us < _BOOT_US and not self.usb.state["configured"])
        serving = self.forwards.serving
        delay_s = self.pacer.delay_s(time_us, stats["instructions"], stats["clk_sys_hz"], hurry=hurry, serving=serving)
        if (too_slow := self.pacer.too_slow()) is not None:
            self._tell(too_slow)
        if self._flash_file is not None:
            self._save(lambda file: file.look(stats["flash_generation"], self.machine.flash))
        self._look_at_card()
        self._wait(delay_s)

    def gdb(self, port: int) -> GdbServer:
        """Return the server for gdb, made at `port`, or at a free one for 0, unless there is one already."""
        if self._gdb is None:
            self._gdb = GdbServer(port, self._log)
        return self._gdb

    def _tell(self, notice: str) -> None:
        """Show a notice at the board, once."""
        if notice != self._notice:
            self._notice = notice
            self._log(notice)
            self.publish()

    def _complain(self, text: str) -> None:
        """Tell the user of a desk's board: on the terminal, and on the console unless a run of the bench reads that."""
        if self._links is None:
            return
        self._notice = text
        self.publish()
        if not self._measures:
            self.usb.show(f"\r\nportbench: {text}\r\n".encode())

    def _save(self, how: Callable[[FlashFile], None]) -> None:
        if self._flash_file is not None:
            try:
                how(self._flash_file)
            except OSError as error:
                self._tell(_unsaved(error))

    def _look_at_card(self) -> None:
        try:
            self._slot.look()
        except OSError as error:
            self._tell(f"SD card: its image cannot be written ({error.strerror}); the file is as it was")

    def simulate(self, duration_us: float) -> None:
        """Simulate this much time at once."""
        until_ps = self.simulation.time_ps + ps(duration_us)
        while self.simulation.time_ps < until_ps and self.fault is None:
            self._advance()

    def _advance(self) -> None:
        """Simulate one slice of time and handle its events; none passes while gdb has the board stopped."""
        if self._gdb is not None:
            self._gdb.serve(self.machine, 0.0 if self._gdb.running else _GDB_WAIT_S)
            if not self._gdb.running:
                return
        self.usb.type()
        self.faults.look()
        self.usb.come_back()
        slice_ps = SERVING_SLICE_PS if self.forwards.serving else SLICE_PS
        if (look_us := self.faults.next_look_us) < slice_ps / PS_PER_US:
            slice_ps = max(ps(look_us), PS_PER_US)
        simulation = self.simulation
        step = simulation.step(simulation.time_ps + slice_ps)
        if self.fault is not None:
            return
        if self.simulation.in_boot_loader and not self.usb.is_stood_in:
            self.liveness.enumerated(self.machine.time_us, True)
            self.usb.stand_in(StandIn(self.definition, self.machine.flash, self._program))
        if self._gdb is not None:
            self._gdb.ran(self.machine, step.stop)
        if step.reset:
            self.client.was_reset()
            if self._bootsel:
                # The button that led into the boot loader is let go now, or the image would never start.
                self.power_up(bootsel=False)
            # The run that was to be left alone by the host is over.
            self.usb.automount = True
        self._look_at_usb(step)
        self._print(step)
        self.client.look()
        if self.uart_ports is not None:
            self.uart_ports.exchange(self.machine)
        self.usb.sync()

    def _wait(self, seconds: float) -> None:
        """Pause, but wake at once when a client types or asks something."""
        if seconds <= 0.0001:
            return
        ports = () if self.uart_ports is None else self.uart_ports.ports
        ports += self.usb.ports
        if ports:
            select.select(ports, [], [], min(seconds, 0.02))
        else:
            self._serve_requests(min(seconds, 0.02))

    def _print(self, step: Step) -> None:
        self.faults.printing(step.printed, self.usb.show)
        self.usb.show_rest()
        if step.printed and self.usb.port is None:
            self.note_lost_result()

    def note_lost_result(self) -> None:
        """Take note that a result line that has come is lost with the port, see `stuck`."""
        self._result_lost = self._result_lost or self.simulation.console.result is not None

    def disturbed(self) -> None:
        """Behave as a usual PC from now on: the run is over, or a client has typed before its end."""
        self.pacer.flat_out = False
        if not self.usb.automount:
            self.usb.mount_now()

    def sessions(self) -> list[dict[str, Any]]:
        return [asdict(session) for session in self.pc.sessions()]

    def stuck(self) -> str | None:
        """Return why the run that is on will never end, as one line; None where no such reason is known."""
        if self._result_lost:
            return "its console went away, and with it the client's result line"
        return self.client.stuck(finished=self.simulation.result_came(self._reports_before))

    def _look_at_usb(self, step: Step) -> None:
        for time_us, what, detail in step.usb:
            self._log(f"{time_us / 1e6:.6f} s usb {what} {detail}".rstrip())
        if step.usb:
            self.usb.changed(self.usb.state)

    def publish(self) -> None:
        seen = self.usb.seen()
        uarts = [] if self.uart_ports is None else list(self.uart_ports.paths)
        if self._links is not None:
            further = {f"port{number}": path for number, path in enumerate(seen["further_ports"], 2)}
            uart_links = {f"uart{number}": path for number, path in enumerate(uarts)}
            self._links.show({"port": seen["port"], **further, **uart_links})
        state = EmulatedState(
            name=self._name,
            pid=os.getpid(),
            definition=self.definition.id,
            uarts=uarts,
            notice=self._notice,
            **seen,
        )
        write_state(self._folder, state)

    def _serve_requests(self, wait_s: float) -> None:
        try:
            request = self._control.requests.get(timeout=wait_s) if wait_s else self._control.requests.get_nowait()
        except queue.Empty:
            return
        carry_out(self, request)

    def lose_power(self) -> None:
        self.power_up(bootsel=False)
        self.publish()
