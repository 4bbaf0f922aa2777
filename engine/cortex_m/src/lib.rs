//! What all Cortex-M cores have: SysTick, and gdb's view of their registers.

#![warn(missing_docs, unreachable_pub)]

pub mod systick;

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
