//! `M33Bench` and `Hazard3Bench`: a core with SRAM and nothing else, which tests drive and examine.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn outside(address: u32, length: usize) -> PyErr {
    PyValueError::new_err(format!("0x{address:08x}+{length} is outside SRAM"))
}

/// Makes a class of `$bench`, whose SRAM is at `$sram`.
macro_rules! bench {
    ($(#[$doc:meta])* $class:ident, $name:literal, $bench:ty, $sram:literal) => {
        $(#[$doc])*
        #[pyclass(name = $name, module = "portbench_engine")]
        pub(crate) struct $class {
            inner: Mutex<$bench>,
        }

        impl $class {
            fn lock(&self) -> MutexGuard<'_, $bench> {
                self.inner.lock().unwrap_or_else(PoisonError::into_inner)
            }
        }

        #[pymethods]
        impl $class {
            #[new]
            fn new() -> Self {
                Self { inner: Mutex::default() }
            }

            /// Run until `cycles` more have passed (whole instructions), or the core sleeps or locks up; returns how many
            /// instructions it has executed.
            fn run(&self, cycles: u64) -> u64 {
                self.lock().run(cycles)
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
                let start = address.wrapping_sub($sram) as usize;
                let range = start..start.saturating_add(length);
                Ok(PyBytes::new(py, bench.mem.ram().get(range).ok_or_else(|| outside(address, length))?))
            }

            fn write_sram(&self, address: u32, data: &[u8]) -> PyResult<()> {
                if self.lock().mem.poke(address, data) { Ok(()) } else { Err(outside(address, data.len())) }
            }
        }
    };
}

bench!(
    /// A bare Cortex-M33 for tests, in Secure privileged thread mode.
    PyM33Bench, "M33Bench", armv8m::bench::Bench, 0x2000_0000
);
bench!(
    /// A bare Hazard3 core for tests, in Machine mode. SRAM is at 0x80000000.
    PyHazard3Bench, "Hazard3Bench", hazard3::bench::Bench, 0x8000_0000
);

#[pymethods]
impl PyM33Bench {
    /// Start a program: R0 to R12, SP, LR and PC, the flags, FPSCR and S0 to S31.
    fn start(&self, registers: [u32; 16], apsr: u32, fpscr: u32, singles: [u32; 32], vtor: u32) {
        self.lock().start(registers, apsr, fpscr, singles, vtor);
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
}

#[pymethods]
impl PyHazard3Bench {
    /// Reset the core, to start at `pc`.
    fn start(&self, pc: u32) {
        self.lock().start(pc);
    }

    #[getter]
    fn pc(&self) -> u32 {
        self.lock().core.pc
    }

    /// x0 to x31.
    fn registers(&self) -> Vec<u32> {
        self.lock().core.regs[..32].to_vec()
    }
}
