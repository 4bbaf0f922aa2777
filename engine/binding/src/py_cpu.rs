//! `CpuBench`: a bare RP2040 without anything around it, whose cores tests drive and examine.

use std::sync::{Mutex, MutexGuard, PoisonError};

use board::mcu::Mcu;
use board::{BoardConfig, Wiring};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::core::State;
use rp::rp2040::memory::{RAM_BASE, RAM_SIZE};
use rp::rp2040::{Chip, ChipConfig, RunEnd};

use crate::EngineError;

/// Registers as Python sees them: R0 to R12, SP, LR, PC.
type Registers = [u32; 16];

/// A bare RP2040 for tests: core 0 stopped in thread mode with empty registers, core 1 held in reset.
///
/// `bootrom`: contents of the 16 KiB ROM from its start.
#[pyclass(name = "CpuBench", module = "portbench_engine")]
pub(crate) struct PyCpuBench {
    inner: Mutex<Chip>,
}

impl PyCpuBench {
    fn lock(&self) -> MutexGuard<'_, Chip> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sram_range(address: u32, length: usize) -> PyResult<std::ops::Range<usize>> {
    let start = address.wrapping_sub(RAM_BASE) as usize;
    match start.checked_add(length) {
        Some(end) if end <= RAM_SIZE => Ok(start..end),
        _ => Err(PyValueError::new_err(format!("0x{address:08x}+{length} is outside SRAM"))),
    }
}

#[pymethods]
impl PyCpuBench {
    #[new]
    #[pyo3(signature = (bootrom = vec![]))]
    fn new(bootrom: Vec<u8>) -> PyResult<Self> {
        let config = ChipConfig { bootrom: &bootrom, flash_size: 1 << 16, flash: &[], ..ChipConfig::default() };
        // A board's chip, so that the chip is compiled once.
        let empty = Wiring::new(&BoardConfig::default()).map_err(|error| EngineError::new_err(error.to_string()))?;
        let mut chip = Chip::new(&config, empty);
        chip.cores[1].state = State::Held;
        chip.cores[0].regs = [0; 16];
        Ok(Self { inner: Mutex::new(chip) })
    }

    /// R0 to R12, SP, LR and PC of `core`.
    #[pyo3(signature = (core = 0))]
    fn registers(&self, core: usize) -> Registers {
        let chip = self.lock();
        let core = &chip.cores[core & 1];
        let mut registers = core.regs;
        registers[15] = core.pc;
        registers
    }

    /// Set core 0's R0 to R12, SP, LR, PC and flags (bits 31 to 28 of `apsr`), in privileged thread mode on the main
    /// stack, running, with no exception active or pending and PRIMASK clear. `psp` is the other stack's pointer.
    fn start(&self, registers: Registers, apsr: u32, vtor: u32, psp: u32) {
        let mut chip = self.lock();
        chip.bus.sys.attention = false;
        let core = &mut chip.cores[0];
        core.ipsr = 0;
        core.primask = false;
        core.control = 0;
        core.regs = registers;
        core.set_psp(psp & !3);
        core.pc = registers[15] & !1;
        core.set_apsr(apsr);
        core.event_register = false;
        core.ppb.active = 0;
        core.ppb.pending = 0;
        core.ppb.pending_system = 0;
        core.ppb.vtor = vtor;
        core.state = State::Running;
    }

    /// Run core 0 alone until `cycles` more have passed (whole instructions), it sleeps or locks up; returns how many
    /// instructions it has executed. No peripheral's time passes.
    fn run(&self, cycles: u64) -> u64 {
        let mut chip = self.lock();
        let Chip { cores, mem, bus, .. } = &mut *chip;
        let core = &mut cores[0];
        let (limit, before) = (core.cycles + cycles, core.instructions);
        while core.state == State::Running && core.cycles < limit {
            bus.sys.attention = false;
            core.take_pending_exception(mem, bus);
            core.run(mem, bus, limit);
        }
        core.instructions - before
    }

    /// Start core 1 from the ROM, as the chip does, and both cores' peripherals; then `run_chip` runs them.
    fn release_core1(&self) {
        let mut chip = self.lock();
        let Chip { cores, mem, bus, .. } = &mut *chip;
        let cycles = cores[0].cycles;
        cores[1].reset(mem, bus.sys.irq_level_for_core(1));
        cores[1].cycles = cycles;
    }

    /// Run the whole chip for `us` of simulated time. Raises EngineError when it uses something that is not modelled.
    fn run_chip(&self, py: Python<'_>, us: f64) -> PyResult<()> {
        let end = py.detach(|| {
            let mut chip = self.lock();
            let until = chip.now() + (us * 1e6) as u64;
            chip.run_until(until)
        });
        match end {
            RunEnd::Time | RunEnd::Paused | RunEnd::Halted | RunEnd::Asleep { .. } => Ok(()),
            RunEnd::Reset { cause } => Err(EngineError::new_err(format!("the program reset the chip: {cause}"))),
            RunEnd::Unmodelled(fault) => Err(EngineError::new_err(fault.to_string())),
        }
    }

    /// Read a word from the bus, as core 0 does. Raises ValueError where nothing answers.
    fn read(&self, address: u32) -> PyResult<u32> {
        let mut chip = self.lock();
        let Chip { mem, bus, .. } = &mut *chip;
        let fault = |_| PyValueError::new_err(format!("nothing answers at 0x{address:08x}"));
        bus.read(mem, Master::Core(0), address & !3, 4).map_err(fault)
    }

    /// Write a word on the bus, as core 0 does. Raises ValueError where nothing answers.
    fn write(&self, address: u32, value: u32) -> PyResult<()> {
        let mut chip = self.lock();
        let Chip { mem, bus, .. } = &mut *chip;
        let fault = |_| PyValueError::new_err(format!("nothing answers at 0x{address:08x}"));
        bus.write(mem, Master::Core(0), address & !3, value, 4).map_err(fault)
    }

    /// Cycles of clk_sys that core 0 has behind it.
    #[getter]
    fn cycles(&self) -> u64 {
        self.lock().cores[0].cycles
    }

    /// APSR, IPSR and the Thumb bit.
    #[getter]
    fn xpsr(&self) -> u32 {
        let chip = self.lock();
        chip.cores[0].apsr() | chip.cores[0].ipsr | (1 << 24)
    }

    #[getter]
    fn primask(&self) -> bool {
        self.lock().cores[0].primask
    }

    #[getter]
    fn control(&self) -> u32 {
        self.lock().cores[0].control
    }

    #[getter]
    fn msp(&self) -> u32 {
        self.lock().cores[0].msp()
    }

    #[getter]
    fn psp(&self) -> u32 {
        self.lock().cores[0].psp()
    }

    /// What the cores do: `Running`, `Wfi`, `Wfe`, `LockedUp` or `Held`.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.lock().cores.iter().map(|core| format!("{:?}", core.state)).collect()
    }

    fn read_sram<'py>(&self, py: Python<'py>, address: u32, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let range = sram_range(address, length)?;
        Ok(PyBytes::new(py, &self.lock().mem.ram()[range]))
    }

    fn write_sram(&self, address: u32, data: &[u8]) -> PyResult<()> {
        let range = sram_range(address, data.len())?;
        let mut chip = self.lock();
        for (offset, &byte) in range.zip(data) {
            chip.mem.set_ram_u8(offset, byte);
        }
        Ok(())
    }
}
