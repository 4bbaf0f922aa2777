//! The registers of a Hazard3 core as gdb sees them.

use hazard3::core::Core;

/// Their description in gdb's XML format.
pub(crate) const DESCRIPTION: &str = include_str!("riscv.xml");

/// Index of the program counter.
pub(crate) const PC: usize = 32;

/// Returns the registers of `core`, in the order of [`DESCRIPTION`].
pub(crate) fn registers(core: &Core) -> Vec<u32> {
    let mut all = core.regs[..PC].to_vec();
    all[0] = 0;
    all.push(core.pc);
    let csrs = &core.csrs;
    all.extend([csrs.mstatus(), csrs.mie, csrs.mtvec, csrs.mscratch, csrs.mepc, csrs.mcause]);
    all
}

/// Sets x1 to x31 and the program counter.
pub(crate) fn set_registers(core: &mut Core, all: &[u32]) {
    if let Some((registers, rest)) = all.split_at_checked(PC) {
        core.regs[1..PC].copy_from_slice(&registers[1..]);
        if let Some(pc) = rest.first() {
            core.pc = pc & !1;
        }
    }
}
