//! The registers of a Cortex-M0+ as gdb sees them.

use crate::core::Core;

/// A description of a core's registers in gdb's XML format, with the features org.gnu.gdb.arm.m-profile and
/// org.gnu.gdb.arm.m-system of "Standard Target Features" in gdb's documentation: for an architecture, with the names of
/// its special registers after MSP and PSP.
#[macro_export]
macro_rules! description {
    ($architecture:literal $(, $special:literal)*) => {
        concat!(
            r#"<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
  <architecture>"#,
            $architecture,
            r#"</architecture>
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
"#,
            $("    <reg name=\"", $special, "\" bitsize=\"32\"/>\n",)*
            r#"  </feature>
</target>
"#,
        )
    };
}

/// The description of a Cortex-M0+.
pub const DESCRIPTION: &str = description!("armv6s-m", "primask", "control");

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
