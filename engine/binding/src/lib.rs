//! The emulated board for Python: `portbench_engine`.

#![warn(missing_docs, unreachable_pub)]

mod py_app;
mod py_bench;
mod py_card;
mod py_chip_lan;
mod py_config;
mod py_cpu;
mod py_device;
mod py_forward;
mod py_gdb;
mod py_machine;
mod py_pins;
mod py_profile;
mod py_tls;

use py_machine::value_error;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

pyo3::create_exception!(
    portbench_engine,
    EngineError,
    pyo3::exceptions::PyRuntimeError,
    "The emulated board cannot go on; one line says why."
);

/// The variable that may name a file with the boot ROM of `mcu`, and the file: that one, else in the user's cache. It
/// need not exist.
#[pyfunction]
fn bootrom_path(mcu: &str) -> PyResult<(&'static str, std::path::PathBuf)> {
    let mcu = board::mcu::named(mcu).map_err(value_error)?;
    Ok((mcu.boot_rom.variable, board::bootrom_path(mcu)))
}

/// A boot ROM of our own for `mcu`; None: there is none.
#[pyfunction]
fn own_bootrom<'py>(py: Python<'py>, mcu: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mcu = board::mcu::named(mcu).map_err(value_error)?;
    Ok(mcu.boot_rom.own.map(|own| PyBytes::new(py, &own())))
}

/// Contents of the flash of `mcu` from a file's: UF2, or Intel HEX or ELF as the chip takes them. Raises ValueError.
#[pyfunction]
#[pyo3(signature = (file, mcu = "RP2040"))]
fn flash_of_image<'py>(py: Python<'py>, file: &[u8], mcu: &str) -> PyResult<Bound<'py, PyBytes>> {
    let mcu = board::mcu::named(mcu).map_err(value_error)?;
    board::flash_of_image(mcu, file).map(|flash| PyBytes::new(py, &flash)).map_err(value_error)
}

/// The native engine of the emulated board.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("MCUS", PyTuple::new(m.py(), board::mcu::ALL.iter().map(|mcu| mcu.name))?)?;
    m.add("CHIPS", PyTuple::new(m.py(), board::Chip::ALL.iter().map(|chip| chip.name()))?)?;
    m.add("RADIOS", PyTuple::new(m.py(), board::RADIOS)?)?;
    m.add("NO_BOOT_LOADER", board::mcu::NO_BOOT_LOADER)?;
    m.add("EngineError", m.py().get_type::<EngineError>())?;
    m.add("SD_CARDS", PyTuple::new(m.py(), sd_card::KINDS.iter().map(|kind| (kind.name, kind.blocks)))?)?;
    m.add_function(wrap_pyfunction!(bootrom_path, m)?)?;
    m.add_function(wrap_pyfunction!(own_bootrom, m)?)?;
    m.add_function(wrap_pyfunction!(flash_of_image, m)?)?;
    m.add_class::<py_card::PyMedium>()?;
    m.add_class::<py_machine::PyMachine>()?;
    m.add_class::<py_gdb::PyGdbSession>()?;
    m.add_class::<py_cpu::PyCpuBench>()?;
    m.add_class::<py_bench::PyM33Bench>()?;
    m.add_class::<py_bench::PyHazard3Bench>()?;
    m.add_class::<py_chip_lan::PyChipLan>()?;
    m.add("TlsError", m.py().get_type::<py_tls::TlsError>())?;
    m.add_class::<py_tls::PyTlsPeer>()?;
    m.add_class::<py_tls::PyTlsConnection>()?;
    Ok(())
}
