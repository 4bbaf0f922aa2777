//! `GdbSession`: gdb's side of a stopped or running board, without its connection.

use std::sync::{Mutex, PoisonError};

use board::GdbSession;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::EngineError;
use crate::py_machine::PyMachine;

/// One connection of gdb's with the machine that each call names; the machine is stopped when it begins.
#[pyclass(name = "GdbSession", module = "portbench_engine")]
pub(crate) struct PyGdbSession {
    inner: Mutex<GdbSession>,
}

fn engine_error(error: impl std::fmt::Display) -> PyErr {
    EngineError::new_err(format!("gdb: {error}"))
}

impl PyGdbSession {
    fn with<T>(&self, work: impl FnOnce(&mut GdbSession) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyGdbSession {
    #[new]
    fn new(machine: &PyMachine) -> PyResult<Self> {
        let session = GdbSession::new(&mut machine.lock()).map_err(engine_error)?;
        Ok(Self { inner: Mutex::new(session) })
    }

    /// True while the machine should run.
    #[getter]
    fn running(&self) -> bool {
        self.with(|session| session.running())
    }

    /// Whether gdb has detached.
    #[getter]
    fn over(&self) -> bool {
        self.with(|session| session.over())
    }

    /// What gdb sent. Raises EngineError where the session is over because of it.
    fn receive(&self, machine: &PyMachine, data: &[u8]) -> PyResult<()> {
        self.with(|session| session.receive(&mut machine.lock(), data)).map_err(engine_error)
    }

    /// After a run of the machine: tells gdb why it stopped, if that was for gdb.
    fn report(&self, machine: &PyMachine) -> PyResult<()> {
        self.with(|session| session.report(&mut machine.lock())).map_err(engine_error)
    }

    /// Tells gdb that `core` got a signal: it locked up.
    fn interrupt(&self, machine: &PyMachine, core: usize) -> PyResult<()> {
        self.with(|session| session.interrupt(&mut machine.lock(), core)).map_err(engine_error)
    }

    /// Tells gdb that the run has its result.
    fn exited(&self, machine: &PyMachine) -> PyResult<()> {
        self.with(|session| session.exited(&mut machine.lock())).map_err(engine_error)
    }

    /// Takes the bytes for gdb.
    fn output<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.with(|session| session.take_output()))
    }
}
