//! The registers of a Cortex-M33 as gdb sees them, in Secure state.

use crate::rp2350::cpu::core::Core;

/// Their description in gdb's XML format.
pub(crate) const DESCRIPTION: &str = cortex_m::description!("armv8-m.main");

/// Index of the program counter.
pub(crate) const PC: usize = 15;
const XPSR: usize = 16;

/// Returns the registers of `core`, in the order of [`DESCRIPTION`].
pub(crate) fn registers(core: &Core) -> Vec<u32> {
    let mut all = core.regs.to_vec();
    all[PC] = core.pc;
    all.extend([core.xpsr(), core.msp(), core.psp()]);
    all
}

/// Sets the registers that a program can set, but no stack pointer other than the active one.
pub(crate) fn set_registers(core: &mut Core, all: &[u32]) {
    if let Some((registers, rest)) = all.split_at_checked(XPSR) {
        core.regs[..PC].copy_from_slice(&registers[..PC]);
        core.regs[13] &= !3;
        core.pc = registers[PC] & !1;
        if let Some(xpsr) = rest.first() {
            core.set_apsr(*xpsr);
        }
    }
}
