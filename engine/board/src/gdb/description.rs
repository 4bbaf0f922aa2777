//! The descriptions of registers and memory for gdb, in its XML format.

/// gdb documentation, "Standard Target Features": org.gnu.gdb.arm.m-profile and org.gnu.gdb.arm.m-system.
pub const TARGET: &str = r#"<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
  <architecture>armv6s-m</architecture>
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
    <reg name="primask" bitsize="32"/>
    <reg name="control" bitsize="32"/>
  </feature>
</target>
"#;

/// Returns the memory map. gdb uses hardware breakpoints in `rom` and `flash` automatically.
pub fn memory_map(flash_bytes: usize) -> String {
    format!(
        r#"<?xml version="1.0"?>
<!DOCTYPE memory-map PUBLIC "+//IDN gnu.org//DTD GDB Memory Map V1.0//EN" "http://sourceware.org/gdb/gdb-memory-map.dtd">
<memory-map>
  <memory type="rom" start="0x0" length="0x4000"/>
  <memory type="rom" start="0x10000000" length="{flash_bytes:#x}"/>
  <memory type="ram" start="0x20000000" length="0x42000"/>
</memory-map>
"#
    )
}
