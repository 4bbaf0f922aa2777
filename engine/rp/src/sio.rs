//! What the SIO of both chips has: FIFOs between the cores, spinlocks and interpolators (datasheets, 2.3.1 and 3.1).

use std::collections::VecDeque;

use chip::Sys;
use parts::interpolator::Interpolator;
use sim::Snapshot;

/// A chip's SIO, the cores' single-cycle registers but GPIO_IN. `offset` is below 0x200 and word-aligned, and SIO not in
/// reset.
pub trait Sio: Default + Snapshot + Send {
    /// Reads a register as `core` sees it; `qspi`: levels of the pins that IO_QSPI has. May have side effects.
    #[inline]
    fn read(&mut self, sys: &mut Sys, core: usize, offset: u32, qspi: u32) -> u32 {
        self.read_own(core, offset, sys.cycle).unwrap_or_else(|| self.take(sys, core, offset, qspi))
    }

    /// Reads a register at `cycle`, if only `core` can tell that it was read.
    #[inline]
    fn read_own(&mut self, core: usize, offset: u32, _cycle: u64) -> Option<u32> {
        self.peek(core, offset)
    }

    /// Writes a register at `cycle`. False: more than `core` can tell, and [`Self::write`] must.
    #[inline]
    fn write_own(&mut self, _core: usize, _offset: u32, _value: u32, _cycle: u64) -> bool {
        false
    }

    /// Reads a register that [`Self::read_own`] does not.
    fn take(&mut self, sys: &mut Sys, core: usize, offset: u32, qspi: u32) -> u32;

    /// Writes a register that [`Self::write_own`] does not.
    fn write(&mut self, sys: &mut Sys, core: usize, offset: u32, value: u32);

    /// Returns what `core` reads, if the read has no side effect and gives the same at any time until a write, another
    /// read or an event.
    fn peek(&self, core: usize, offset: u32) -> Option<u32>;

    /// Returns what IO_QSPI drives on its pins: levels and enables.
    fn qspi(&self) -> (u32, u32);

    /// Resets all registers.
    fn reset(&mut self, sys: &mut Sys);
}

#[derive(Debug, Default, Snapshot)]
struct PerCore {
    interpolators: [Interpolator; 2],
    /// Words in transit to this core.
    inbox: VecDeque<u32>,
    read_on_empty: bool,
    write_on_full: bool,
}

/// The registers that both chips have at the same offsets, with FIFOs of `DEPTH` words.
#[derive(Debug, Default, Snapshot)]
pub(crate) struct Common<const DEPTH: usize> {
    cores: [PerCore; 2],
    spinlocks: u32,
}

impl<const DEPTH: usize> Common<DEPTH> {
    /// Returns the level of the FIFO interrupt of `core`.
    pub(crate) fn interrupts(&self, core: usize) -> bool {
        let me = &self.cores[core];
        !me.inbox.is_empty() || me.read_on_empty || me.write_on_full
    }

    /// See [`Sio::peek`].
    #[inline]
    pub(crate) fn peek(&self, core: usize, offset: u32) -> Option<u32> {
        let me = &self.cores[core];
        Some(match offset {
            0x000 => core as u32,
            0x050 => {
                u32::from(!me.inbox.is_empty())
                    | (u32::from(self.cores[1 - core].inbox.len() < DEPTH) << 1)
                    | (u32::from(me.write_on_full) << 2)
                    | (u32::from(me.read_on_empty) << 3)
            }
            0x05c => self.spinlocks,
            0x100..0x180 if self.spinlocks & spinlock(offset) != 0 => 0,
            _ => return None,
        })
    }

    /// Reads FIFO_RD, an interpolator's register, or a spinlock that is free.
    pub(crate) fn read(&mut self, core: usize, offset: u32) -> u32 {
        let me = &mut self.cores[core];
        match offset {
            0x058 => {
                let word = me.inbox.pop_front();
                me.read_on_empty |= word.is_none();
                word.unwrap_or(0)
            }
            0x080..0x100 => {
                let index = usize::from(offset >= 0x0c0);
                me.interpolators[index].read(index, offset & 0x3f)
            }
            0x100..0x180 => {
                self.spinlocks |= spinlock(offset);
                spinlock(offset)
            }
            _ => 0,
        }
    }

    /// Writes a register.
    pub(crate) fn write(&mut self, core: usize, offset: u32, value: u32) {
        match offset {
            0x050 => (self.cores[core].read_on_empty, self.cores[core].write_on_full) = (false, false),
            0x054 if self.cores[1 - core].inbox.len() < DEPTH => self.cores[1 - core].inbox.push_back(value),
            0x054 => self.cores[core].write_on_full = true,
            0x080..0x100 => {
                let index = usize::from(offset >= 0x0c0);
                self.cores[core].interpolators[index].write(index, offset & 0x3f, value);
            }
            0x100..0x180 => self.release(spinlock(offset)),
            _ => {}
        }
    }

    /// Releases spinlocks.
    pub(crate) fn release(&mut self, spinlocks: u32) {
        self.spinlocks &= !spinlocks;
    }
}

/// Returns the bit of the spinlock whose register has the low bits of `offset`.
pub(crate) fn spinlock(offset: u32) -> u32 {
    1 << (offset / 4 % 32)
}
