//! `Hazard3Bench`: a Hazard3 core with SRAM and nothing else, which tests drive and examine.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hazard3::bench::Bench;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const SRAM: u32 = 0x8000_0000;

/// A bare Hazard3 core for tests, in Machine mode. SRAM is at 0x80000000.
#[pyclass(name = "Hazard3Bench", module = "portbench_engine")]
pub(crate) struct PyHazard3Bench {
    inner: Mutex<Bench>,
}

impl PyHazard3Bench {
    fn lock(&self) -> MutexGuard<'_, Bench> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn outside(address: u32, length: usize) -> PyErr {
    PyValueError::new_err(format!("0x{address:08x}+{length} is outside SRAM"))
}

#[pymethods]
impl PyHazard3Bench {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// Reset the core, to start at `pc`.
    fn start(&self, pc: u32) {
        self.lock().start(pc);
    }

    /// Run until `cycles` more have passed (whole instructions), or the core sleeps or locks up; returns how many
    /// instructions it has executed.
    fn run(&self, cycles: u64) -> u64 {
        self.lock().run(cycles)
    }

    #[getter]
    fn pc(&self) -> u32 {
        self.lock().core.pc
    }

    /// x0 to x31.
    fn registers(&self) -> Vec<u32> {
        self.lock().core.regs[..32].to_vec()
    }

    #[getter]
    fn cycles(&self) -> u64 {
        self.lock().core.cycles
    }

    /// What the core does: `Running`, `Wfi`, `Wfe` or `LockedUp`.
    #[getter]
    fn state(&self) -> String {
        format!("{:?}", self.lock().core.state)
    }

    fn read_sram<'py>(&self, py: Python<'py>, address: u32, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bench = self.lock();
        let start = address.wrapping_sub(SRAM) as usize;
        let range = start..start.saturating_add(length);
        Ok(PyBytes::new(py, bench.mem.ram().get(range).ok_or_else(|| outside(address, length))?))
    }

    fn write_sram(&self, address: u32, data: &[u8]) -> PyResult<()> {
        if self.lock().mem.poke(address, data) { Ok(()) } else { Err(outside(address, data.len())) }
    }
}
