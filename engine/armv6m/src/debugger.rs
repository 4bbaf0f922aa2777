//! The registers of a Cortex-M0+ as gdb sees them.

use crate::core::Core;

/// The description of a Cortex-M0+.
pub const DESCRIPTION: &str = cortex_m::description!("armv6s-m", "primask", "control");

/// R0 to R15, xPSR, MSP, PSP, PRIMASK, CONTROL: in the order of [`DESCRIPTION`].
pub(crate) const REGISTERS: usize = 21;
/// Index of the program counter.
pub const PC: usize = 15;
const XPSR: usize = 16;

/// Returns the registers of `core`.
pub fn registers(core: &Core) -> [u32; REGISTERS] {
    let mut all = [0; REGISTERS];
    all[..PC].copy_from_slice(&core.regs[..PC]);
    let xpsr = core.apsr() | 1 << 24 | core.ipsr;
    all[PC..].copy_from_slice(&[core.pc, xpsr, core.msp(), core.psp(), u32::from(core.primask), core.control]);
    all
}

/// Sets the registers that a program can set. Neither the current exception nor the active stack can be changed.
pub fn set_registers(core: &mut Core, all: &[u32; REGISTERS]) {
    core.regs[..PC].copy_from_slice(&all[..PC]);
    core.regs[13] &= !3;
    core.pc = all[PC] & !1;
    core.set_apsr(all[XPSR]);
    core.primask = all[XPSR + 3] & 1 != 0;
}
