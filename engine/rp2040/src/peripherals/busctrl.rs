//! BUSCTRL: bus priorities and performance counters (datasheet 2.1.5).
//!
//! Priorities have no effect, since the model has no arbitration between masters. The performance counters read 0: the
//! fast paths of the memories do not report their accesses.

use super::{Peripheral, Write};
use crate::sys::Sys;

#[derive(Debug)]
pub struct Busctrl {
    priority: u32,
    perfsel: [u32; 4],
}

impl Default for Busctrl {
    fn default() -> Self {
        Self { priority: 0, perfsel: [0x1f; 4] }
    }
}

impl Peripheral for Busctrl {
    fn name(&self) -> &'static str {
        "BUSCTRL"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.priority,
            0x04 => 1,
            0x0c | 0x14 | 0x1c | 0x24 => self.perfsel[((offset - 0x0c) / 8) as usize],
            _ => 0,
        }
    }

    fn write(&mut self, _sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => self.priority = write.apply_masked(self.priority, 0x1111),
            0x0c | 0x14 | 0x1c | 0x24 => {
                let perfsel = &mut self.perfsel[((offset - 0x0c) / 8) as usize];
                *perfsel = write.apply_masked(*perfsel, 0x1f);
            }
            _ => {}
        }
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers() {
        let mut sys = Sys::new(12_000_000);
        let mut busctrl = Busctrl::default();
        for (offset, value) in [(0x0, 0), (0x4, 1), (0x8, 0), (0xc, 0x1f), (0x24, 0x1f), (0x28, 0)] {
            assert_eq!(busctrl.read(&mut sys, offset), value);
        }
        busctrl.write(&mut sys, 0, Write::normal(u32::MAX));
        busctrl.write(&mut sys, 0x14, Write::normal(0x22));
        assert_eq!((busctrl.read(&mut sys, 0), busctrl.read(&mut sys, 0x14)), (0x1111, 2));
    }
}
