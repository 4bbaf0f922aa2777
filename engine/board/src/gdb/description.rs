//! The description of memory for gdb, in its XML format.

use chip::mcu::Contents;

/// Returns the memory map. gdb uses hardware breakpoints in `rom` automatically.
pub(crate) fn memory_map(regions: &[Contents]) -> String {
    let rows = regions.iter().map(|region| {
        let kind = if region.writable { "ram" } else { "rom" };
        let (start, length) = (region.start, region.bytes.len());
        format!("  <memory type=\"{kind}\" start=\"{start:#x}\" length=\"{length:#x}\"/>\n")
    });
    format!(
        r#"<?xml version="1.0"?>
<!DOCTYPE memory-map PUBLIC "+//IDN gnu.org//DTD GDB Memory Map V1.0//EN" "http://sourceware.org/gdb/gdb-memory-map.dtd">
<memory-map>
{}</memory-map>
"#,
        rows.collect::<String>()
    )
}
