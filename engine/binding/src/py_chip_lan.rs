//! `ChipLan`: an Ethernet chip and its LAN without a microcontroller, for drivers that run on the PC (CPython over an SPI shim).

use std::sync::{Mutex, MutexGuard, PoisonError};

use board::{Chip, EthernetPart, network_of};
use lan::Lan;
use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use sim::{Device, EthernetChip, PS_PER_S, SpiDevice, ps, us};

use crate::py_app::{PyApp, PyUdpApp};
use crate::py_config::json;
use crate::py_machine::value_error;

struct Inner {
    chip: EthernetPart,
    lan: Lan,
    /// The cable is in the board's socket.
    plugged: bool,
    now: u64,
}

impl Inner {
    /// Runs chip and LAN up to `until`, event by event.
    fn advance(&mut self, until: u64) {
        loop {
            self.exchange_frames();
            let events = [self.chip.next_event(), self.lan.next_event(), self.lan.next_cable_change(self.now)];
            match events.into_iter().flatten().min() {
                Some(at) if at <= until => self.step(at),
                _ => break,
            }
        }
        self.step(until);
        self.exchange_frames();
    }

    fn step(&mut self, until: u64) {
        self.now = self.now.max(until);
        self.chip.set_cable(self.now, self.plugged && self.lan.cable_up(self.now));
        self.chip.advance(self.now);
        self.lan.advance(self.now);
    }

    fn exchange_frames(&mut self) {
        loop {
            let mut moved = false;
            while let Some((at, frame)) = self.chip.take_frame() {
                self.lan.from_board(at, &frame);
                moved = true;
            }
            while let Some(frame) = self.lan.to_board(self.now) {
                self.chip.receive_frame(self.now, &frame);
                moved = true;
            }
            if !moved {
                return;
            }
        }
    }
}

/// The Ethernet chip called `chip` on its LAN, on simulated time that only `transfer` and `advance` move.
///
/// `settings`: the network's keys of `boards/emulated/config.py`.
#[pyclass(name = "ChipLan", module = "portbench_engine")]
pub(crate) struct PyChipLan {
    inner: Mutex<Inner>,
}

impl PyChipLan {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyChipLan {
    #[new]
    fn new(chip: &str, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let chip = Chip::named(chip).map_err(value_error)?;
        let (lan, phy) = network_of(json(settings)?).map_err(value_error)?;
        let (lan, plugged) = (Lan::try_new(lan).map_err(value_error)?, phy.cable_plugged);
        Ok(Self { inner: Mutex::new(Inner { chip: EthernetPart::new(chip, phy), lan, plugged, now: 0 }) })
    }

    #[getter]
    fn time_us(&self) -> f64 {
        us(self.lock().now)
    }

    /// When the simulated PC last gave an address by DHCP; None before the first time.
    #[getter]
    fn leased_us(&self) -> Option<f64> {
        self.lock().lan.leased_at().map(us)
    }

    /// Advances time by `us` microseconds.
    fn advance(&self, py: Python<'_>, us: f64) {
        py.detach(|| {
            let mut inner = self.lock();
            let until = inner.now.saturating_add(ps(us.max(0.0)));
            inner.advance(until);
        });
    }

    /// Chip select edge.
    fn select(&self, py: Python<'_>, low: bool) {
        py.detach(|| {
            let mut inner = self.lock();
            let now = inner.now;
            inner.chip.select(now, low);
            inner.advance(now);
        });
    }

    /// Level of the RSTn pin.
    fn reset_pin(&self, py: Python<'_>, low: bool) {
        py.detach(|| {
            let mut inner = self.lock();
            let now = inner.now;
            inner.chip.set_reset(now, low);
            inner.advance(now);
        });
    }

    /// Exchange bytes at `spi_hz`, each taking eight clocks of simulated time.
    fn transfer<'py>(&self, py: Python<'py>, mosi: Vec<u8>, spi_hz: u64) -> PyResult<Bound<'py, PyBytes>> {
        if spi_hz == 0 {
            return Err(PyValueError::new_err("spi_hz = 0: use the SPI clock in Hz"));
        }
        let miso = py.detach(|| {
            let mut inner = self.lock();
            let byte_ps = 8 * PS_PER_S / spi_hz;
            mosi.iter()
                .map(|&byte| {
                    let at = inner.now.saturating_add(byte_ps);
                    inner.advance(at);
                    let miso = inner.chip.exchange(at, byte);
                    inner.exchange_frames();
                    miso
                })
                .collect::<Vec<u8>>()
        });
        match self.lock().chip.take_unmodelled() {
            Some(what) => Err(PyNotImplementedError::new_err(format!("not modelled: {what}"))),
            None => Ok(PyBytes::new(py, &miso)),
        }
    }

    /// True while INTn is low.
    #[getter]
    fn intn_low(&self) -> bool {
        self.lock().chip.interrupt_low()
    }

    fn set_cable(&self, plugged: bool) {
        let mut inner = self.lock();
        inner.plugged = plugged;
        let now = inner.now;
        inner.advance(now);
    }

    /// Whether the PHY has a link.
    #[getter]
    fn link_up(&self) -> bool {
        let inner = self.lock();
        inner.chip.link_up(inner.now)
    }

    /// Listen on TCP `port` of the simulated PC with a Python application.
    fn listen(&self, port: u16, app: Py<PyAny>) -> PyResult<()> {
        self.lock().lan.listen(port, Box::new(PyApp::new(app, None))).map_err(value_error)
    }

    /// Connect from the simulated PC to `address:port` on the board, at `at_us` or now; returns the connection's number.
    #[pyo3(signature = (peer, app, at_us = 0.0))]
    fn connect(&self, peer: &str, app: Py<PyAny>, at_us: f64) -> PyResult<u64> {
        let peer = peer.parse().map_err(|_| PyValueError::new_err(format!("{peer:?} is not ADDRESS:PORT")))?;
        let mut inner = self.lock();
        let now = inner.now;
        inner.lan.connect(now, ps(at_us), peer, Box::new(PyApp::new(app, None))).map_err(value_error)
    }

    /// End what `listen` began; false if nothing listens on `port`.
    fn unlisten(&self, port: u16) -> bool {
        self.lock().lan.unlisten(port)
    }

    /// Listen on UDP `port` of the simulated PC with a Python application.
    fn udp_listen(&self, port: u16, app: Py<PyAny>) -> PyResult<()> {
        let app = Box::new(PyUdpApp::new(app, None));
        self.lock().lan.udp_listen(port, app).map_err(value_error)
    }

    /// Send on a connection of the simulated PC, at `at_us` or now; false if it is gone.
    #[pyo3(signature = (conn, data, at_us = 0.0))]
    fn lan_send(&self, conn: u64, data: &[u8], at_us: f64) -> bool {
        let mut inner = self.lock();
        let now = inner.now;
        inner.lan.send_at(now, ps(at_us), conn, data)
    }

    /// Close a connection of the simulated PC once all has been sent; false if it is gone.
    fn lan_close(&self, conn: u64) -> bool {
        let mut inner = self.lock();
        let now = inner.now;
        inner.lan.close(now, conn)
    }

    /// Send an ICMP echo request from the simulated PC; false if too many wait.
    fn ping(&self, to: &str, sequence: u16, data: &[u8]) -> PyResult<bool> {
        let to = to.parse().map_err(|_| PyValueError::new_err(format!("{to:?} is not an IPv4 address")))?;
        let mut inner = self.lock();
        let now = inner.now;
        Ok(inner.lan.ping(now, now, to, sequence, data))
    }

    /// Take the echo replies so far: `[(from, sequence, data, round_trip_us)]`.
    fn ping_replies<'py>(&self, py: Python<'py>) -> Vec<(String, u16, Bound<'py, PyBytes>, f64)> {
        let replies = self.lock().lan.take_ping_replies();
        replies
            .into_iter()
            .map(|r| {
                let round_trip_us = us(r.received - r.sent);
                (r.from.to_string(), r.sequence, PyBytes::new(py, &r.data), round_trip_us)
            })
            .collect()
    }

    /// `spi_bytes`, `chip_selects`, `frames_from_board`, `frames_to_board` since power-up.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.lock().chip.stats();
        let d = PyDict::new(py);
        d.set_item("spi_bytes", stats.bus_bytes)?;
        d.set_item("chip_selects", stats.chip_selects)?;
        d.set_item("frames_from_board", stats.frames_out)?;
        d.set_item("frames_to_board", stats.frames_in)?;
        Ok(d)
    }
}
