//! XIP_CTRL: cache control, streaming, and the cache used as SRAM (datasheet 2.6.3).

use super::{Alias, Write};
use crate::rp2040::wires::{dreq, event};
use chip::Sys;
use chip::xip_cache::XipCache;
use parts::xip_stream::XipStream;
use sim::Snapshot;

const SRAM_SIZE: usize = 16 * 1024;
/// Cycles of clk_sys that clearing the tags takes: one per set and way counter step (datasheet 2.6.3.2: "just over 1024").
const FLUSH_CYCLES: u64 = 1024;

mod ctrl {
    pub(crate) const EN: u32 = 1;
    pub(crate) const ERR_BADWRITE: u32 = 2;
    pub(crate) const POWER_DOWN: u32 = 8;
    pub(crate) const MASK: u32 = 0xb;
}
/// Bit of STAT.
const FLUSH_READY: u32 = 1;

#[derive(Debug, Snapshot)]
pub(crate) struct XipCtrl {
    ctrl: u32,
    flush_done_cycle: u64,
    pub(crate) stream: XipStream,
    sram: Vec<u8>,
    stall_cycles: u32,
}

impl Default for XipCtrl {
    fn default() -> Self {
        Self {
            ctrl: ctrl::EN | ctrl::ERR_BADWRITE,
            flush_done_cycle: 0,
            stream: XipStream::new(event::XIP_STREAM, dreq::XIP_STREAM),
            sram: vec![0; SRAM_SIZE],
            stall_cycles: 0,
        }
    }
}

fn cycle(sys: &Sys) -> u64 {
    sys.now_cycle()
}

impl XipCtrl {
    pub(crate) fn read(&mut self, sys: &mut Sys, xip: &XipCache, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl,
            // Reading FLUSH holds the bus until the flush completes.
            0x04 => {
                self.stall_cycles = self.flush_done_cycle.saturating_sub(cycle(sys)) as u32;
                0
            }
            0x08 => {
                let ready = if cycle(sys) >= self.flush_done_cycle { FLUSH_READY } else { 0 };
                ready | self.stream.read(sys, xip, offset)
            }
            _ => self.stream.read(sys, xip, offset),
        }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, xip: &mut XipCache, offset: u32, write: Write) {
        match offset {
            0x00 => {
                self.ctrl = write.apply(self.ctrl) & ctrl::MASK;
                if self.ctrl & ctrl::POWER_DOWN != 0 {
                    self.ctrl &= !ctrl::EN;
                }
                xip.configure(self.ctrl & ctrl::EN != 0, self.ctrl & ctrl::POWER_DOWN != 0);
            }
            0x04 if write.alias != Alias::Clear && write.bits & 1 != 0 => {
                xip.flush();
                self.flush_done_cycle = cycle(sys) + FLUSH_CYCLES;
            }
            _ => self.stream.write(sys, xip, offset, write),
        }
    }

    /// Takes the wait states of the last register read.
    pub(crate) fn take_stall_cycles(&mut self) -> u32 {
        std::mem::take(&mut self.stall_cycles)
    }

    /// Returns CTRL.ERR_BADWRITE: writes to any XIP alias but the first fault.
    pub(crate) fn bad_write_faults(&self) -> bool {
        self.ctrl & ctrl::ERR_BADWRITE != 0
    }

    pub(crate) fn sram_read(&mut self, offset: u32) -> u32 {
        let at = offset as usize & (SRAM_SIZE - 4);
        u32::from_le_bytes(self.sram[at..at + 4].try_into().unwrap_or_default())
    }

    /// Writes the cache as SRAM; `size` is 1, 2 or 4 bytes.
    pub(crate) fn sram_write(&mut self, offset: u32, value: u32, size: u32) {
        let size = size as usize;
        let at = offset as usize & (SRAM_SIZE - size);
        self.sram[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    /// Resets the registers; the data memory keeps its contents (FLUSH's description). [`super::ssi::Ssi`] resets the
    /// cache itself.
    pub(crate) fn reset(&mut self, sys: &mut Sys) {
        let sram = std::mem::take(&mut self.sram);
        *self = Self { sram, flush_done_cycle: cycle(sys) + FLUSH_CYCLES, ..Self::default() };
        self.stream.reset(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> (XipCtrl, Sys, XipCache) {
        let mut xip = XipCache::default();
        (xip.offline, xip.miss_cycles) = (false, 50);
        (XipCtrl::default(), crate::rp2040::wires::sys(125_000_000), xip)
    }

    #[test]
    fn reset_values() {
        let (mut x, mut sys, xip) = bench();
        for (offset, value) in
            [(0x00, 3), (0x04, 0), (0x08, 3), (0x0c, 0), (0x10, 0), (0x14, 0), (0x18, 0), (0x1c, 0), (0x20, 0)]
        {
            assert_eq!(x.read(&mut sys, &xip, offset), value, "{offset:#x}");
        }
    }

    #[test]
    fn flush_stalls_a_read_until_done() {
        let (mut x, mut sys, mut xip) = bench();
        xip.access_word(0);
        x.write(&mut sys, &mut xip, 4, Write::normal(1));
        assert_eq!(xip.access_word(0), 50);
        assert_eq!(x.read(&mut sys, &xip, 8) & 1, 0);
        sys.cycle += 24;
        x.read(&mut sys, &xip, 4);
        assert_eq!(x.take_stall_cycles(), 1000);
        sys.cycle += 1000;
        assert_eq!(x.read(&mut sys, &xip, 8) & 1, 1);
    }

    #[test]
    fn counters_count_hits_and_clear() {
        let (mut x, mut sys, mut xip) = bench();
        x.write(&mut sys, &mut xip, 0x10, Write::normal(1));
        xip.access_word(0);
        xip.access_word(0);
        assert_eq!((x.read(&mut sys, &xip, 0x0c), x.read(&mut sys, &xip, 0x10)), (1, 2));
        x.write(&mut sys, &mut xip, 0x0c, Write::normal(1));
        x.write(&mut sys, &mut xip, 0x10, Write::normal(1));
        assert_eq!((x.read(&mut sys, &xip, 0x0c), x.read(&mut sys, &xip, 0x10)), (0, 0));
    }

    #[test]
    fn powering_down_disables() {
        let (mut x, mut sys, mut xip) = bench();
        x.write(&mut sys, &mut xip, 0, Write::normal(8 | 1));
        assert_eq!(x.read(&mut sys, &xip, 0), 8);
        assert!(!xip.is_sram());
        x.write(&mut sys, &mut xip, 0, Write { bits: 8, alias: Alias::Clear });
        assert!(xip.is_sram());
        x.sram_write(0x3ffd, 0xab, 1);
        assert_eq!(x.sram_read(0x3ffc), 0x0000_ab00);
    }
}
