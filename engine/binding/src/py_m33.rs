//! `M33Bench`: a Cortex-M33 with SRAM and nothing else, which tests drive and examine.

use std::sync::{Mutex, MutexGuard, PoisonError};

use armv8m::bench::Bench;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const SRAM: u32 = 0x2000_0000;

/// A bare Cortex-M33 for tests, in Secure privileged thread mode.
#[pyclass(name = "M33Bench", module = "portbench_engine")]
pub(crate) struct PyM33Bench {
    inner: Mutex<Bench>,
}

impl PyM33Bench {
    fn lock(&self) -> MutexGuard<'_, Bench> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn outside(address: u32, length: usize) -> PyErr {
    PyValueError::new_err(format!("0x{address:08x}+{length} is outside SRAM"))
}

#[pymethods]
impl PyM33Bench {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// Start a program: R0 to R12, SP, LR and PC, the flags, FPSCR and S0 to S31.
    fn start(&self, registers: [u32; 16], apsr: u32, fpscr: u32, singles: [u32; 32], vtor: u32) {
        self.lock().start(registers, apsr, fpscr, singles, vtor);
    }

    /// Run until `cycles` more have passed (whole instructions), or the core sleeps or locks up; returns how many
    /// instructions it has executed.
    fn run(&self, cycles: u64) -> u64 {
        self.lock().run(cycles)
    }

    /// R0 to R12, SP, LR and PC.
    fn registers(&self) -> [u32; 16] {
        let bench = self.lock();
        let mut registers = bench.core.regs;
        registers[15] = bench.core.pc;
        registers
    }

    /// S0 to S31.
    fn singles(&self) -> [u32; 32] {
        self.lock().core.fpu.s
    }

    /// APSR, IPSR, ITSTATE and the Thumb bit.
    #[getter]
    fn xpsr(&self) -> u32 {
        self.lock().core.xpsr()
    }

    #[getter]
    fn fpscr(&self) -> u32 {
        self.lock().core.fpu.fpscr
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
