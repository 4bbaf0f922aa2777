//! The emulated board for Python: `portbench._engine`.

mod py_app;
mod py_attribution;
mod py_card;
mod py_chip_lan;
mod py_config;
mod py_cpu;
mod py_device;
mod py_forward;
mod py_gdb;
mod py_m33;
mod py_machine;
mod py_pins;
mod py_profile;
mod py_time;
mod py_trace;
mod py_wifi;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

pyo3::create_exception!(
    _engine,
    EngineError,
    pyo3::exceptions::PyRuntimeError,
    "The emulated board cannot go on; one line says why."
);

/// The native engine of the emulated board.
#[pymodule]
fn _engine(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("MCUS", PyTuple::new(m.py(), board::MCUS)?)?;
    m.add("CHIPS", PyTuple::new(m.py(), board::Chip::ALL.iter().map(|chip| chip.name()))?)?;
    m.add("RADIOS", PyTuple::new(m.py(), board::RADIOS)?)?;
    m.add("EngineError", m.py().get_type::<EngineError>())?;
    m.add("SD_CARDS", PyTuple::new(m.py(), sd_card::KINDS.iter().map(|kind| (kind.name, kind.blocks)))?)?;
    m.add_class::<py_card::PyMedium>()?;
    m.add_class::<py_machine::PyMachine>()?;
    m.add_class::<py_gdb::PyGdbSession>()?;
    m.add_class::<py_cpu::PyCpuBench>()?;
    m.add_class::<py_m33::PyM33Bench>()?;
    m.add_class::<py_chip_lan::PyChipLan>()?;
    Ok(())
}
