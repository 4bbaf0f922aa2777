//! The core as avr-gdb sees it: R0 to R31, SREG, SP, and the program counter in bytes. SRAM begins at 0x800000.

use crate::core::Core;

/// Address of the data space.
pub(crate) const DATA: u32 = 0x80_0000;
/// Index of the program counter in the registers.
pub(crate) const PC: usize = 34;

/// avr-gdb has no standard feature for targets; it takes these registers in this order by itself.
pub(crate) const DESCRIPTION: &str = r#"<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0"><architecture>avr:6</architecture></target>
"#;

/// Returns the registers in avr-gdb's order.
pub(crate) fn registers(core: &Core) -> Vec<u32> {
    let named = [core.sreg.into(), core.sp.into(), core.pc * 2];
    core.r.iter().map(|&r| r.into()).chain(named).collect()
}

/// Sets all registers, in the same order.
pub(crate) fn set_registers(core: &mut Core, registers: &[u32]) {
    let mut registers = registers.iter().copied();
    core.r.iter_mut().zip(&mut registers).for_each(|(r, value)| *r = value as u8);
    if let Some(sreg) = registers.next() {
        core.sreg = sreg as u8;
    }
    if let Some(sp) = registers.next() {
        core.sp = sp as u16;
    }
    if let Some(pc) = registers.next() {
        core.pc = pc / 2;
    }
}
