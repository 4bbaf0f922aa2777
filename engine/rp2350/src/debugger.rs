//! The registers of a Cortex-M33 as gdb sees them, in Secure state.

use crate::cpu::core::Core;

/// Their description in gdb's XML format, with the features org.gnu.gdb.arm.m-profile and org.gnu.gdb.arm.m-system of
/// "Standard Target Features" in gdb's documentation.
pub const DESCRIPTION: &str = r#"<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
  <architecture>armv8-m.main</architecture>
  <feature name="org.gnu.gdb.arm.m-profile">
    <reg name="r0" bitsize="32" regnum="0"/>
    <reg name="r1" bitsize="32"/>
    <reg name="r2" bitsize="32"/>
    <reg name="r3" bitsize="32"/>
    <reg name="r4" bitsize="32"/>
    <reg name="r5" bitsize="32"/>
    <reg name="r6" bitsize="32"/>
    <reg name="r7" bitsize="32"/>
    <reg name="r8" bitsize="32"/>
    <reg name="r9" bitsize="32"/>
    <reg name="r10" bitsize="32"/>
    <reg name="r11" bitsize="32"/>
    <reg name="r12" bitsize="32"/>
    <reg name="sp" bitsize="32" type="data_ptr"/>
    <reg name="lr" bitsize="32" type="code_ptr"/>
    <reg name="pc" bitsize="32" type="code_ptr"/>
    <reg name="xpsr" bitsize="32" regnum="25"/>
  </feature>
  <feature name="org.gnu.gdb.arm.m-system">
    <reg name="msp" bitsize="32" regnum="26" type="data_ptr"/>
    <reg name="psp" bitsize="32" type="data_ptr"/>
  </feature>
</target>
"#;

/// Index of the program counter.
pub const PC: usize = 15;
const XPSR: usize = 16;

/// Returns the registers of `core`, in the order of [`DESCRIPTION`].
pub fn registers(core: &Core) -> Vec<u32> {
    let mut all = core.regs.to_vec();
    all[PC] = core.pc;
    all.extend([core.xpsr(), core.msp(), core.psp()]);
    all
}

/// Sets the registers that a program can set, but no stack pointer other than the active one.
pub fn set_registers(core: &mut Core, all: &[u32]) {
    if let Some((registers, rest)) = all.split_at_checked(XPSR) {
        core.regs[..PC].copy_from_slice(&registers[..PC]);
        core.regs[13] &= !3;
        core.pc = registers[PC] & !1;
        if let Some(xpsr) = rest.first() {
            core.set_apsr(*xpsr);
        }
    }
}
