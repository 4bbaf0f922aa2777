//! The emulated board for Python: `portbench._engine`.

mod agenda;
mod bit_spi;
mod config;
mod machine;
mod py_app;
mod py_config;
mod py_cpu;
mod py_machine;
mod py_time;
mod py_trace;
mod py_w5500;
mod wiring;

use pyo3::prelude::*;

pyo3::create_exception!(
    _engine,
    EngineError,
    pyo3::exceptions::PyRuntimeError,
    "The emulated board cannot go on; one line says why."
);

/// The native engine of the emulated board.
#[pymodule]
fn _engine(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("EngineError", m.py().get_type::<EngineError>())?;
    m.add_class::<py_machine::PyMachine>()?;
    m.add_class::<py_cpu::PyCpuBench>()?;
    m.add_class::<py_w5500::PyW5500Lan>()?;
    Ok(())
}
