//! Parts whose registers are constants, as SYSINFO and TBMAN, by which a program knows the chip.

use chip::{Peripheral, Sys, Write};

/// Such a part.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Name as in the datasheet.
    pub name: &'static str,
    /// Offset and value of each register; all others read as 0.
    pub registers: &'static [(u32, u32)],
}

sim::left_out!([] Constants);

impl Peripheral for Constants {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        self.registers.iter().find(|(at, _)| *at == offset).map_or(0, |(_, value)| *value)
    }

    fn write(&mut self, _sys: &mut Sys, _offset: u32, _write: Write) {}

    fn reset(&mut self, _sys: &mut Sys) {}
}
