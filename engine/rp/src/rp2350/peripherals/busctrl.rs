//! BUSCTRL: bus priorities, which the model does not need, and performance counters, which do not count (datasheet
//! 12.15.4).

use super::{Peripheral, Write, unmodelled};
use chip::Sys;
use sim::Snapshot;

const COUNTERS: usize = 4;

#[derive(Debug, Snapshot)]
pub struct Busctrl {
    priority: u32,
    counter: [u32; COUNTERS],
    select: [u32; COUNTERS],
}

impl Default for Busctrl {
    fn default() -> Self {
        Self { priority: 0, counter: [0; COUNTERS], select: [0x1f; COUNTERS] }
    }
}

impl Peripheral for Busctrl {
    fn name(&self) -> &'static str {
        "BUSCTRL"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.priority,
            // BUS_PRIORITY_ACK: the arbiters have taken the new priorities.
            0x04 => 1,
            0x0c..=0x28 if offset & 4 != 0 => self.counter[((offset - 0x0c) / 8) as usize],
            0x0c..=0x28 => self.select[((offset - 0x10) / 8) as usize],
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => self.priority = write.apply_masked(self.priority, 0x1111),
            0x08 if write.apply(0) != 0 => unmodelled(sys, "BUSCTRL.PERFCTR_EN", offset, Some(write.bits)),
            // A write clears the counter.
            0x0c..=0x28 if offset & 4 != 0 => self.counter[((offset - 0x0c) / 8) as usize] = 0,
            0x10..=0x28 => {
                let select = &mut self.select[((offset - 0x10) / 8) as usize];
                *select = write.apply_masked(*select, 0x7f);
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
    fn priorities_are_stored_and_a_counter_ends_the_run() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut busctrl = Busctrl::default();
        busctrl.write(&mut sys, 0, Write::normal(u32::MAX));
        busctrl.write(&mut sys, 0x20, Write::normal(3));
        assert_eq!(
            [0x00, 0x04, 0x0c, 0x10, 0x20, 0x24].map(|offset| busctrl.read(&mut sys, offset)),
            [0x1111, 1, 0, 0x1f, 3, 0]
        );
        busctrl.write(&mut sys, 8, Write::normal(1));
        assert!(sys.unmodelled.is_some());
    }
}
