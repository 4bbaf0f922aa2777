//! `Machine`: one emulated board, as Python drives it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use board::{ConsoleError, FrameTold, Machine, Pair, ReplyTold, Side, SpiTold, Stop, Unmodelled, lan_faults};
use chip::sys::ResetRequest;
use lan::{ForwardTarget, Lan};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pythonize::pythonize;
use serde::Serialize;
use usb_host::{LineCoding, SerialPort, UsbHost, VolumeError};

use sim::{Ps, ps, us};

use crate::EngineError;
use crate::py_app::{PyApp, PyUdpApp};
use crate::py_config::{self, json};
use crate::py_device::{self, Failures, attachment};
use crate::py_forward;
use crate::py_profile;

/// An emulated board on simulated time.
///
/// `bootrom`: the microcontroller's boot ROM. `flash`: initial contents of flash from its start. `settings`: a dict, see
/// `boards/emulated/config.py`. Times are microseconds of simulated time since the last power cycle. After a panic in the
/// engine, all calls but those for the time panic until `power_cycle`.
#[pyclass(name = "Machine", module = "portbench_engine")]
pub(crate) struct PyMachine {
    inner: Mutex<Machine>,
    /// Of the attached devices.
    failures: Failures,
}

pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns structs and maps as dicts, sequences as lists.
fn python<'py>(py: Python<'py>, told: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize(py, told)?)
}

fn volume_error(error: &VolumeError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

impl PyMachine {
    /// Panics in a device's callback, which runs while the machine is locked, and after a panic in the engine, which left
    /// the machine in the middle of something.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Machine> {
        let machine = self.lock_torn();
        assert!(!self.inner.is_poisoned(), "the engine has panicked in this machine: only power_cycle() goes on");
        machine
    }

    /// Panics in a device's callback.
    fn lock_torn(&self) -> MutexGuard<'_, Machine> {
        assert!(!py_device::is_called(), "a device called its own board: do so outside of its callbacks");
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn other<'a>(&self, partner: &'a Self) -> PyResult<&'a Self> {
        if std::ptr::eq(self, partner) {
            return Err(PyValueError::new_err("partner: a board is not its own; use another machine"));
        }
        Ok(partner)
    }

    fn engine_error(&self, py: Python<'_>, fault: &Unmodelled, of: &str) -> PyErr {
        self.failures.error(py, of).unwrap_or_else(|| EngineError::new_err(format!("{of}{}", fault.0)))
    }

    /// Changes the LAN at the present time, and plans its events again. `Err`: the board has no network.
    fn on_lan<T>(&self, change: impl FnOnce(&mut Lan, Ps) -> T) -> PyResult<T> {
        self.lock().on_lan(change).map_err(value_error)
    }
}

#[pymethods]
impl PyMachine {
    #[new]
    #[pyo3(signature = (bootrom, flash, settings = None, bootsel = false))]
    fn new(
        py: Python<'_>,
        bootrom: Vec<u8>,
        flash: &[u8],
        settings: Option<&Bound<'_, PyDict>>,
        bootsel: bool,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let config = py_config::board(bootrom, settings.unwrap_or(&PyDict::new(py)), &failures)?;
        let machine = Machine::new(config, flash, bootsel).map_err(value_error)?;
        Ok(Self { inner: Mutex::new(machine), failures })
    }

    /// Simulated time in microseconds.
    #[getter]
    fn time_us(&self) -> f64 {
        us(self.lock_torn().now())
    }

    /// Simulated time in picoseconds.
    #[getter]
    fn time_ps(&self) -> u64 {
        self.lock_torn().now()
    }

    /// Run until `until_ps`, or until something wants attention: returns `time`, `console`, `usb`, `network`,
    /// `reset: CAUSE`, `halted` (gdb wants it), or, once for each time that a core does, `locked up`.
    /// Raises EngineError when the guest uses something that is not modelled.
    fn run_until_ps(&self, py: Python<'_>, until_ps: u64) -> PyResult<String> {
        match py.detach(|| self.lock().run(until_ps)) {
            Ok(stop) => Ok(stop.to_string()),
            Err(fault) => Err(self.engine_error(py, &fault, "")),
        }
    }

    /// Put this board, which is at simulated time 0, and `partner`, which runs already, on one switch; the PC is
    /// `partner`'s.
    fn join(&self, partner: PyRef<'_, Self>) -> PyResult<()> {
        let first = self.other(&partner)?;
        board::join(&mut first.lock(), &mut self.lock()).map_err(value_error)
    }

    /// As `run_until_ps`, in lock-step with `partner`, which was at `since_ps` when this board was powered up. Returns
    /// the same, and whether it is the partner's. `partner_leads`: the partner goes first, which makes no difference.
    #[pyo3(signature = (until_ps, partner, since_ps, partner_leads = true))]
    fn run_beside(
        &self,
        py: Python<'_>,
        until_ps: u64,
        partner: PyRef<'_, Self>,
        since_ps: u64,
        partner_leads: bool,
    ) -> PyResult<(String, bool)> {
        let first = self.other(&partner)?;
        let leader = if partner_leads { Side::First } else { Side::Second };
        // Locked without the interpreter, as in `run_until_ps`: a thread that has it may be waiting for a machine.
        let end: Result<(Side, Stop), (Side, Unmodelled)> =
            py.detach(|| Pair::new(&mut first.lock(), &mut self.lock(), since_ps).run(until_ps, leader));
        match end {
            Ok((side, stop)) => Ok((stop.to_string(), side == Side::First)),
            Err((Side::First, fault)) => Err(partner.engine_error(py, &fault, "the other board: ")),
            Err((Side::Second, fault)) => Err(self.engine_error(py, &fault, "")),
        }
    }

    /// Restart the chips and the LAN at simulated time 0; flash stays. LAN applications must be added again.
    #[pyo3(signature = (bootsel = false))]
    fn power_cycle(&self, bootsel: bool) -> PyResult<()> {
        self.failures.clear();
        self.lock_torn().power_cycle(bootsel).map_err(value_error)?;
        self.inner.clear_poison();
        Ok(())
    }

    /// The board's whole state as bytes: chip, flash, network, USB and simulated time. Logs, traces and applications on
    /// the LAN are no part of it. Raises ValueError with the part that cannot be saved.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lock().save().map_err(value_error)?))
    }

    /// Goes on as the board of a snapshot would, with the same settings. LAN applications and logs must be added again.
    /// Raises ValueError, and then nothing has changed.
    fn restore(&self, snapshot: &[u8]) -> PyResult<()> {
        self.lock().restore(snapshot).map_err(value_error)?;
        self.failures.clear();
        Ok(())
    }

    /// Settings for the next power cycle; the same keys as the constructor's, all others as by default.
    fn configure(&self, settings: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut machine = self.lock();
        let bootrom = machine.config_mut().bootrom.clone();
        *machine.config_mut() = py_config::board(bootrom, settings, &self.failures)?;
        Ok(())
    }

    /// Attach a device that is written in Python, for now and for all later power cycles: `{"bus": "i2c0", "device":
    /// an object, "sda_pin": 4, ...}`, see `py_device.rs`.
    fn attach(&self, device: &Bound<'_, PyDict>) -> PyResult<()> {
        let mcu = self.lock().chip().facts();
        let attachment = attachment(mcu, device, &self.failures)?;
        self.lock().attach(attachment);
        Ok(())
    }

    /// Contents of flash.
    fn flash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.lock().chip().flash())
    }

    /// Listen on TCP `port` of the simulated PC with a Python application, see `PyApp`.
    fn listen(&self, port: u16, app: Py<PyAny>) -> PyResult<()> {
        let mut machine = self.lock();
        let app = Box::new(PyApp::new(app, Some(&machine.wiring().pause)));
        machine.listen(port, app).map_err(value_error)
    }

    /// Connect from the simulated PC to `address:port` on the board, at `at_us` or now; returns the connection's number.
    #[pyo3(signature = (peer, app, at_us = 0.0))]
    fn connect(&self, peer: &str, app: Py<PyAny>, at_us: f64) -> PyResult<u64> {
        let peer = peer.parse().map_err(|_| PyValueError::new_err(format!("{peer:?} is not ADDRESS:PORT")))?;
        let mut machine = self.lock();
        let app = Box::new(PyApp::new(app, Some(&machine.wiring().pause)));
        machine.on_lan(|lan, now| lan.connect(now, ps(at_us), peer, app)).flatten().map_err(value_error)
    }

    /// End what `listen` began; false if nothing listens on `port`.
    fn unlisten(&self, port: u16) -> PyResult<bool> {
        self.on_lan(|lan, _| lan.unlisten(port))
    }

    /// Listen on UDP `port` of the simulated PC with a Python application.
    fn udp_listen(&self, port: u16, app: Py<PyAny>) -> PyResult<()> {
        let mut machine = self.lock();
        let app = Box::new(PyUdpApp::new(app, Some(&machine.wiring().pause)));
        machine.on_lan(|lan, _| lan.udp_listen(port, app)).flatten().map_err(value_error)
    }

    /// Send a datagram from UDP `port` of the simulated PC, which `udp_listen` opened, to `peer` (`address:port`); false if
    /// it is longer than 1472 bytes or the port is not open.
    fn udp_send(&self, port: u16, peer: &str, data: &[u8]) -> PyResult<bool> {
        let peer = py_config::parse("peer", peer)?;
        self.on_lan(|lan, now| lan.udp_send(now, port, peer, data))
    }

    /// Send on a connection of the simulated PC, at `at_us` or now; false if it is gone.
    #[pyo3(signature = (conn, data, at_us = 0.0))]
    fn lan_send(&self, conn: u64, data: &[u8], at_us: f64) -> PyResult<bool> {
        self.on_lan(|lan, now| lan.send_at(now, ps(at_us), conn, data))
    }

    /// Close a connection of the simulated PC; false if it is gone.
    fn lan_close(&self, conn: u64) -> PyResult<bool> {
        self.on_lan(|lan, now| lan.close(now, conn))
    }

    /// Reset a connection of the simulated PC; false if it is gone.
    fn lan_reset(&self, conn: u64) -> PyResult<bool> {
        self.on_lan(|lan, now| lan.reset(now, conn))
    }

    /// Keep the newest `limit` frames of the cable from now on (0: none), for `lan_frames`. Until the next power cycle.
    fn log_frames(&self, limit: usize) -> PyResult<()> {
        self.lock().log_frames(limit).map_err(value_error)
    }

    /// Take the frames of the cable in order: `[(start_us, arrival_us, to_board, fate, bytes)]`, the fate as
    /// `lan::Fate` names it.
    fn lan_frames(&self) -> PyResult<Vec<FrameTold>> {
        self.lock().take_frames().map_err(value_error)
    }

    /// Lead connections (or datagrams, `udp`) that come to the bound socket `fd` of this machine to `port` of the board, at
    /// `address` or where it is. Until the next power cycle; returns the rule's number.
    #[pyo3(signature = (fd, udp, port, address = None))]
    fn forward(&self, fd: i32, udp: bool, port: u16, address: Option<&str>) -> PyResult<u64> {
        let socket = py_forward::host_socket(fd, udp)?;
        let address = address.map(|address| py_config::parse("address", address)).transpose()?;
        let target = ForwardTarget { address, port };
        self.on_lan(|lan, now| lan.forward(now, socket, target))?.map_err(value_error)
    }

    /// End a rule; its open connections go on. False if there is none.
    fn end_forward(&self, rule: u64) -> PyResult<bool> {
        self.on_lan(|lan, now| lan.end_forward(now, rule))
    }

    /// The counts of a forward rule so far; None without such a rule.
    fn forward_stats<'py>(&self, py: Python<'py>, rule: u64) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.lock().lan().map_err(value_error)?.forward_stats(rule))
    }

    /// True while the board serves a program of this PC, and a moment longer.
    #[getter]
    fn serves_host(&self) -> bool {
        let mut machine = self.lock();
        let now = machine.now();
        machine.lan().is_ok_and(|lan| lan.serves_host(now))
    }

    /// The board's address as the simulated PC knows it.
    #[getter]
    fn board_address(&self) -> Option<String> {
        self.lock().board_address()
    }

    /// When the simulated PC last told the board by DHCP that an address is its own; None before the first time.
    #[getter]
    fn leased_us(&self) -> Option<f64> {
        self.lock().leased_us()
    }

    /// The address that this board and the one on its switch both say is theirs, where this one has the PC.
    #[getter]
    fn address_conflict(&self) -> Option<String> {
        self.lock().lan().ok()?.address_conflict().map(|address| address.to_string())
    }

    /// Send an ICMP echo request from the simulated PC, at `at_us` or now; false if it is longer than 1472 bytes or too
    /// many wait.
    #[pyo3(signature = (to, sequence, data, at_us = 0.0))]
    fn ping(&self, to: &str, sequence: u16, data: &[u8], at_us: f64) -> PyResult<bool> {
        let to = py_config::parse("to", to)?;
        self.on_lan(|lan, now| lan.ping(now, ps(at_us), to, sequence, data))
    }

    /// Take the echo replies so far: `[(from, sequence, data, sent_us, received_us)]`.
    fn ping_replies(&self) -> PyResult<Vec<ReplyTold>> {
        self.lock().take_ping_replies().map_err(value_error)
    }

    fn set_cable(&self, plugged: bool) -> PyResult<()> {
        self.lock().set_cable(plugged).map_err(value_error)
    }

    /// Faults of the cable from now on, see `boards/emulated/config.py`.
    fn set_lan_faults(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let faults = lan_faults(json(value)?).map_err(value_error)?;
        self.on_lan(|lan, _| lan.set_faults(faults))?.map_err(value_error)
    }

    /// Whether the Ethernet chip's PHY has a link; false on a board without one.
    #[getter]
    fn link_up(&self) -> bool {
        self.lock().link_up()
    }

    /// Bytes that the board printed.
    fn console_read<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().usb().console_read())
    }

    /// When the last byte came that the board printed; 0 before the first.
    #[getter]
    fn console_time_us(&self) -> f64 {
        us(self.lock().usb().console_received_at())
    }

    /// Run until the console has printed `text`, for at most `within_ps` of simulated time; returns all that it printed.
    /// Raises EngineError.
    fn expect(&self, py: Python<'_>, text: &str, within_ps: u64) -> PyResult<String> {
        match py.detach(|| self.lock().expect(text, within_ps)) {
            Ok(printed) => Ok(printed),
            Err(ConsoleError::Unmodelled(fault)) => Err(self.engine_error(py, &fault, "")),
            Err(missing) => Err(EngineError::new_err(missing.to_string())),
        }
    }

    /// Type into the console; returns how many bytes were taken.
    fn console_write(&self, data: &[u8]) -> usize {
        self.lock().on_usb(|usb| usb.console_write(data))
    }

    /// Bytes typed that the board has not taken yet.
    #[getter]
    fn console_unsent(&self) -> usize {
        self.lock().usb().state().console_unsent
    }

    /// Set the line's speed, as a terminal program does when it opens the port (1200 is the boot loader's sign).
    fn set_baud(&self, baud: u32) -> bool {
        self.lock().on_usb(|usb| usb.set_line_coding(LineCoding::baud(baud)))
    }

    fn console_open(&self) -> bool {
        self.lock().on_usb(UsbHost::console_open)
    }

    fn console_close(&self) -> bool {
        self.lock().on_usb(UsbHost::console_close)
    }

    /// Bytes that came at a serial port, by its place among the board's: the console's is 0.
    fn serial_read<'py>(&self, py: Python<'py>, place: usize) -> Bound<'py, PyBytes> {
        let data = self.lock().usb().serial(place).map(SerialPort::read);
        PyBytes::new(py, &data.unwrap_or_default())
    }

    /// Send to a serial port; returns how many bytes were taken.
    fn serial_write(&self, place: usize, data: &[u8]) -> usize {
        self.lock().on_usb(|usb| usb.serial(place).map_or(0, |port| port.write(data)))
    }

    /// Bytes sent to a serial port that the board has not taken yet.
    fn serial_unsent(&self, place: usize) -> usize {
        self.lock().usb().serial(place).map_or(0, |port| port.unsent())
    }

    /// Set a serial port's speed; false where there is none.
    fn serial_set_baud(&self, place: usize, baud: u32) -> bool {
        let coding = LineCoding::baud(baud);
        self.lock().on_usb(|usb| usb.serial(place).is_some_and(|port| port.set_line_coding(coding)))
    }

    /// Clears a serial port's DTR and RTS; false without such a port.
    fn serial_close(&self, place: usize) -> bool {
        self.lock().on_usb(|usb| usb.serial(place).is_some_and(SerialPort::close))
    }

    /// What the PC knows of the USB device, as a dict; `generation` grows with each enumeration.
    fn usb<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.lock().usb_state())
    }

    /// What happened on the USB port since the last call: `[(t_us, name, detail)]`.
    fn usb_events(&self) -> Vec<(f64, &'static str, String)> {
        self.lock().usb_events()
    }

    /// All files and directories of a logical unit of the board's drive: `[(path, is_dir, size)]`. The board runs during the call.
    #[pyo3(signature = (lun = 0))]
    fn volume_list(&self, py: Python<'_>, lun: u8) -> PyResult<Vec<(String, bool, u64)>> {
        py.detach(|| {
            let mut machine = self.lock();
            let entries = machine.volume(lun)?.list()?;
            Ok(entries.into_iter().map(|e| (e.path, e.is_dir, e.size)).collect())
        })
        .map_err(|e: VolumeError| volume_error(&e))
    }

    #[pyo3(signature = (lun = 0))]
    fn volume_label(&self, py: Python<'_>, lun: u8) -> PyResult<String> {
        py.detach(|| self.lock().volume(lun)?.label()).map_err(|e| volume_error(&e))
    }

    /// Contents of the files named, in one mount.
    #[pyo3(signature = (paths, lun = 0))]
    fn volume_read<'py>(&self, py: Python<'py>, paths: Vec<String>, lun: u8) -> PyResult<Bound<'py, PyList>> {
        let contents = py
            .detach(|| {
                let mut machine = self.lock();
                let volume = machine.volume(lun)?;
                paths.iter().map(|path| volume.read_file(path)).collect::<Result<Vec<_>, _>>()
            })
            .map_err(|e| volume_error(&e))?;
        PyList::new(py, contents.iter().map(|data| PyBytes::new(py, data)))
    }

    /// Change the drive in one mount: a list of `("write", path, data)`, `("mkdir", path, b"")`, `("remove", path, b"")`.
    #[pyo3(signature = (changes, lun = 0))]
    fn volume_apply(&self, py: Python<'_>, changes: Vec<(String, String, Vec<u8>)>, lun: u8) -> PyResult<()> {
        py.detach(|| self.lock().change_volume(&changes, lun)).map_err(|e| volume_error(&e))
    }

    /// Counters since the power cycle; those of the network are 0, and `spi_hz` is None, on a board without one.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.lock().stats())
    }

    /// The first address of SRAM, and its bytes.
    #[getter]
    fn sram(&self) -> (u32, usize) {
        let machine = self.lock();
        let memories = machine.chip().memories();
        memories.iter().find(|memory| memory.writable).map_or((0, 0), |sram| (sram.start, sram.bytes.len()))
    }

    /// `length` bytes of SRAM from `address`, as a debugger reads them.
    fn read_sram<'py>(&self, py: Python<'py>, address: u32, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let machine = self.lock();
        let bytes = machine.chip().memories().into_iter().filter(|memory| memory.writable).find_map(|memory| {
            let start = address.wrapping_sub(memory.start) as usize;
            memory.bytes.get(start..start.checked_add(length)?)
        });
        let bytes = bytes.ok_or_else(|| PyValueError::new_err(format!("0x{address:08x}+{length} is outside SRAM")))?;
        Ok(PyBytes::new(py, bytes))
    }

    /// Put `data` into SRAM from `address`, as a stray pointer or a particle does: no cycle passes.
    fn write_sram(&self, address: u32, data: &[u8]) -> PyResult<()> {
        if !self.lock().chip_mut().poke(address, data) {
            return Err(PyValueError::new_err(format!("0x{address:08x}+{} is outside SRAM", data.len())));
        }
        Ok(())
    }

    /// Reset both cores, as SYSRESETREQ does, when the board runs on; the chip's peripherals and the devices keep their state.
    fn reset_cores(&self) {
        self.lock().chip_mut().sys().request_reset(ResetRequest::Processor { core: 0 });
    }

    /// Both cores' registers R0 to R14, PC and xPSR; of RISC-V cores x0 to x16.
    fn registers(&self) -> Vec<Vec<u32>> {
        self.lock().registers()
    }

    /// HardFaults and lock-ups since the last call: `(list of dicts, number that did not fit)`. `text` says it all in one
    /// line. A HardFault that the guest handles is reported, too, and does not end a run.
    fn cpu_faults<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.lock().take_faults())
    }

    /// Start tracing the kinds named (`spi`, `pins`, `irq`, `usb`, `lan`, `pc`, `registers`, `reset`, `cores`,
    /// `wire`), beginning with what pins and cores are now.
    #[pyo3(signature = (kinds, limit = 1_000_000, pc_sample_cycles = 1000))]
    fn trace_start(&self, kinds: Vec<String>, limit: usize, pc_sample_cycles: u64) -> PyResult<()> {
        self.lock().trace_kinds(&kinds, limit, pc_sample_cycles).map_err(value_error)
    }

    fn trace_stop(&self) {
        self.lock().stop_trace();
    }

    /// Take the records so far: `(list of dicts, number that did not fit)`.
    fn trace_take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.lock().take_trace())
    }

    /// Start a profile: of each instruction and call, or of samples each `sample_cycles` of clk_sys where that is not 0.
    /// `starts`: addresses at which functions are known to begin. Raises EngineError for a chip without profiles.
    #[pyo3(signature = (sample_cycles = 0, starts = Vec::new()))]
    fn profile_start(&self, sample_cycles: u64, starts: Vec<u32>) -> PyResult<()> {
        self.lock().chip_mut().start_profile(sample_cycles, starts).map_err(EngineError::new_err)
    }

    /// End the profile and take it, see `py_profile::profiled`.
    fn profile_take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        py_profile::profiled(py, self.lock().chip_mut().take_profile())
    }

    /// Begin to record what an attribution of time needs, from now on; `limit` changes at most.
    #[pyo3(signature = (limit = 8_000_000))]
    fn attribution_start(&self, limit: usize) {
        self.lock().start_attribution(limit);
    }

    /// Ends the recording; `attribution` returns it.
    fn attribution_stop(&self) {
        self.lock().stop_attribution();
    }

    /// Where the time of a client's spans went; None where nothing was recorded. See `boards/emulated/attribution.py`.
    /// `windows_us`: begin and end of each interval, if they are known; `spans_us` is then ignored.
    #[pyo3(signature = (spans_us, within_us = Vec::new(), ready_us = None, link_us = None, windows_us = None))]
    fn attribution<'py>(
        &self,
        py: Python<'py>,
        spans_us: Vec<u64>,
        within_us: Vec<f64>,
        ready_us: Option<u64>,
        link_us: Option<u64>,
        windows_us: Option<Vec<(f64, f64)>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.lock().attribution(spans_us, within_us, ready_us, link_us, windows_us))
    }

    /// What went on at each moment from one time to another: `[(start_us, end_us, cause)]` without a gap; None where
    /// nothing was recorded, or not all of it. Causes are those of `attribution`, of which `_run` stands for what counts
    /// as `_miss` and `_wait`, too.
    fn attribution_moments(&self, start_us: f64, end_us: f64) -> Option<Vec<(f64, f64, &'static str)>> {
        self.lock().attribution_moments((start_us, end_us))
    }

    /// Log decoded SPI frames of the devices from now on (or stop).
    fn spi_log(&self, on: bool) {
        self.lock().log_spi(on);
    }

    /// Take the decoded SPI frames in order: `[(start_us, end_us, device, name, address, write, length,
    /// first bytes, meaning, wire_bytes)]`.
    fn spi_log_take(&self) -> Vec<SpiTold> {
        self.lock().take_spi()
    }
}
