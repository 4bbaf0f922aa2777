//! Trace records and fault reports as Python objects.

use parts::fault::Report;
use parts::trace::{Record, kind};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sim::{Ps, SpiFrame};

use crate::py_time::us;

/// Bits of the trace mask by name.
pub(crate) const KINDS: [(&str, u32); 10] = [
    ("spi", kind::SPI),
    ("pins", kind::PINS),
    ("irq", kind::IRQ),
    ("usb", kind::USB),
    ("lan", kind::LAN),
    ("pc", kind::PC),
    ("registers", kind::REGISTERS),
    ("reset", kind::RESET),
    ("cores", kind::CORES),
    ("wire", kind::WIRE),
];

/// `{"t_us": float, "kind": str, ...}`.
pub(crate) fn record<'py>(py: Python<'py>, at: Ps, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("t_us", us(at))?;
    match *record {
        Record::Spi { spi, mosi, miso } => {
            d.set_item("kind", "spi")?;
            d.set_item("spi", spi)?;
            d.set_item("mosi", mosi)?;
            d.set_item("miso", miso)?;
        }
        Record::Pins { level, output_enabled } => {
            d.set_item("kind", "pins")?;
            d.set_item("level", level)?;
            d.set_item("output_enabled", output_enabled)?;
        }
        Record::Exception { core, number, entry } => {
            d.set_item("kind", "irq")?;
            d.set_item("core", core)?;
            d.set_item("number", number)?;
            d.set_item("entry", entry)?;
        }
        Record::Usb { endpoint, token, handshake, len } => {
            d.set_item("kind", "usb")?;
            d.set_item("endpoint", endpoint)?;
            d.set_item("token", token)?;
            d.set_item("handshake", handshake)?;
            d.set_item("len", len)?;
        }
        Record::Lan { from_board, len } => {
            d.set_item("kind", "lan")?;
            d.set_item("from_board", from_board)?;
            d.set_item("len", len)?;
        }
        Record::Pc { core, pc } => {
            d.set_item("kind", "pc")?;
            d.set_item("core", core)?;
            d.set_item("pc", pc)?;
        }
        Record::Register { core, write, address, value } => {
            d.set_item("kind", "registers")?;
            d.set_item("core", core)?;
            d.set_item("write", write)?;
            d.set_item("address", address)?;
            d.set_item("value", value)?;
        }
        Record::Core { core, running } => {
            d.set_item("kind", "cores")?;
            d.set_item("core", core)?;
            d.set_item("running", running)?;
        }
        Record::Wire { spi, bits, mosi, miso, begin, first, polarity, phase } => {
            d.set_item("kind", "wire")?;
            d.set_item("spi", spi)?;
            d.set_item("bits", bits)?;
            d.set_item("mosi", mosi)?;
            d.set_item("miso", miso)?;
            d.set_item("begin_us", us(begin))?;
            d.set_item("first_us", us(first))?;
            d.set_item("polarity", polarity)?;
            d.set_item("phase", phase)?;
        }
        Record::Reset { cause } => {
            d.set_item("kind", "reset")?;
            d.set_item("cause", cause)?;
        }
    }
    Ok(d)
}

/// `{"t_us": float, "core": int, "locked_up": bool, "pc": int, "lr": int, "exception": int, "cause": str, "text": str}`.
pub(crate) fn fault<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let Report { at, core, locked_up, pc, lr, exception, cause } = *report;
    let d = PyDict::new(py);
    d.set_item("t_us", us(at))?;
    d.set_item("core", core)?;
    d.set_item("locked_up", locked_up)?;
    d.set_item("pc", pc)?;
    d.set_item("lr", lr)?;
    d.set_item("exception", exception)?;
    d.set_item("cause", cause.to_string())?;
    d.set_item("text", report.to_string())?;
    Ok(d)
}

/// `(start_us, end_us, device, name, address, write, length, first bytes, meaning, wire_bytes)`.
pub(crate) type PyFrame<'py> = (f64, f64, &'static str, String, u16, bool, usize, Bound<'py, PyBytes>, String, usize);

/// A decoded SPI frame of `device`.
pub(crate) fn frame<'py>(py: Python<'py>, device: &'static str, frame: SpiFrame) -> PyFrame<'py> {
    let data = PyBytes::new(py, &frame.data);
    let SpiFrame { start, end, name, address, write, len, meaning, wire_bytes, .. } = frame;
    (us(start), us(end), device, name, address, write, len, data, meaning, wire_bytes)
}
