//! BOOTRAM: the boot ROM's memory, with the write-once bits and boot locks at the same endpoint (datasheet 4.3).

use super::{Alias, Peripheral, Write};
use chip::Sys;
use sim::Snapshot;

const WORDS: usize = 256;
const LOCKS: u32 = 8;

#[derive(Debug, Snapshot)]
pub struct Bootram {
    words: Vec<u32>,
    write_once: [u32; 2],
    /// Claimed boot locks.
    claimed: u32,
}

impl Default for Bootram {
    fn default() -> Self {
        Self { words: vec![0; WORDS], write_once: [0; 2], claimed: 0 }
    }
}

impl Bootram {
    /// Writes the bytes of `lanes` (a mask) of the word at `offset`. The memory keeps the others, unlike a register.
    pub fn write_lanes(&mut self, offset: u32, write: Write, lanes: u32) {
        let word = &mut self.words[(offset / 4) as usize];
        *word = write.apply_masked(*word, lanes);
    }
}

impl Peripheral for Bootram {
    fn name(&self) -> &'static str {
        "BOOTRAM"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x000..0x400 => self.words[(offset / 4) as usize],
            0x800 | 0x804 => self.write_once[usize::from(offset == 0x804)],
            0x808 => !self.claimed & ((1 << LOCKS) - 1),
            0x80c..=0x828 => {
                let lock = 1 << ((offset - 0x80c) / 4);
                let free = self.claimed & lock == 0;
                self.claimed |= lock;
                if free { lock } else { 0 }
            }
            _ => 0,
        }
    }

    fn write(&mut self, _sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x000..0x400 => self.write_lanes(offset, write, u32::MAX),
            0x800 | 0x804 if write.alias != Alias::Clear => {
                self.write_once[usize::from(offset == 0x804)] |= write.bits;
            }
            0x808 => self.claimed = !write.apply(!self.claimed) & ((1 << LOCKS) - 1),
            0x80c..=0x828 => self.claimed &= !(1 << ((offset - 0x80c) / 4)),
            _ => {}
        }
    }

    /// Resets the registers; the memory keeps its contents.
    fn reset(&mut self, _sys: &mut Sys) {
        let words = std::mem::take(&mut self.words);
        *self = Self { words, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_lock_is_claimed_once() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut bootram = Bootram::default();
        assert_eq!(bootram.read(&mut sys, 0x808), 0xff);
        assert_eq!((bootram.read(&mut sys, 0x814), bootram.read(&mut sys, 0x814)), (4, 0));
        assert_eq!(bootram.read(&mut sys, 0x808), 0xfb);
        bootram.write(&mut sys, 0x814, Write::normal(0));
        assert_eq!(bootram.read(&mut sys, 0x814), 4);
    }

    #[test]
    fn a_reset_keeps_the_memory_and_clears_what_is_written_once() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut bootram = Bootram::default();
        bootram.write(&mut sys, 0x3fc, Write { bits: 0xf0, alias: Alias::Set });
        bootram.write_lanes(0x3fc, Write::normal(0x1212_1212), 0xff00);
        bootram.write(&mut sys, 0x804, Write::normal(6));
        bootram.write(&mut sys, 0x804, Write::normal(0));
        bootram.write(&mut sys, 0x804, Write { bits: 2, alias: Alias::Clear });
        assert_eq!((bootram.read(&mut sys, 0x3fc), bootram.read(&mut sys, 0x804)), (0x12f0, 6));
        bootram.reset(&mut sys);
        assert_eq!((bootram.read(&mut sys, 0x3fc), bootram.read(&mut sys, 0x804)), (0x12f0, 0));
    }
}
