//! XIP_CTRL: cache control, streaming, and the cache used as SRAM (datasheet 2.6.3).

use super::{Alias, Write};
use crate::rp2040::memory::Memory;
use crate::rp2040::sys::Sys;
use crate::rp2040::wires::{dreq, event};
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
    pub(crate) fn read(&mut self, sys: &mut Sys, mem: &mut Memory, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl,
            // Reading FLUSH holds the bus until the flush completes.
            0x04 => {
                self.stall_cycles = self.flush_done_cycle.saturating_sub(cycle(sys)) as u32;
                0
            }
            0x08 => {
                let ready = if cycle(sys) >= self.flush_done_cycle { FLUSH_READY } else { 0 };
                ready | self.stream.read(sys, &mem.xip, offset)
            }
            _ => self.stream.read(sys, &mem.xip, offset),
        }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, mem: &mut Memory, offset: u32, write: Write) {
        match offset {
            0x00 => {
                self.ctrl = write.apply(self.ctrl) & ctrl::MASK;
                if self.ctrl & ctrl::POWER_DOWN != 0 {
                    self.ctrl &= !ctrl::EN;
                }
                mem.xip.configure(self.ctrl & ctrl::EN != 0, self.ctrl & ctrl::POWER_DOWN != 0);
            }
            0x04 if write.alias != Alias::Clear && write.bits & 1 != 0 => {
                mem.xip.flush();
                self.flush_done_cycle = cycle(sys) + FLUSH_CYCLES;
            }
            _ => self.stream.write(sys, &mem.xip, offset, write),
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

    fn bench() -> (XipCtrl, Sys, Memory) {
        let mut mem = Memory::new(&[], 1 << 20);
        mem.xip.offline = false;
        mem.xip.miss_cycles = 50;
        mem.xip.uncached_cycles = 48;
        (XipCtrl::default(), crate::rp2040::wires::sys(125_000_000), mem)
    }

    #[test]
    fn reset_values() {
        let (mut x, mut sys, mut mem) = bench();
        for (offset, value) in
            [(0x00, 3), (0x04, 0), (0x08, 3), (0x0c, 0), (0x10, 0), (0x14, 0), (0x18, 0), (0x1c, 0), (0x20, 0)]
        {
            assert_eq!(x.read(&mut sys, &mut mem, offset), value, "{offset:#x}");
        }
    }

    #[test]
    fn flush_stalls_a_read_until_done() {
        let (mut x, mut sys, mut mem) = bench();
        mem.xip.access_word(0);
        x.write(&mut sys, &mut mem, 4, Write::normal(1));
        assert_eq!(mem.xip.access_word(0), 50);
        assert_eq!(x.read(&mut sys, &mut mem, 8) & 1, 0);
        sys.cycle += 24;
        x.read(&mut sys, &mut mem, 4);
        assert_eq!(x.take_stall_cycles(), 1000);
        sys.cycle += 1000;
        assert_eq!(x.read(&mut sys, &mut mem, 8) & 1, 1);
    }

    #[test]
    fn counters_count_hits_and_clear() {
        let (mut x, mut sys, mut mem) = bench();
        x.write(&mut sys, &mut mem, 0x10, Write::normal(1));
        mem.xip.access_word(0);
        mem.xip.access_word(0);
        assert_eq!((x.read(&mut sys, &mut mem, 0x0c), x.read(&mut sys, &mut mem, 0x10)), (1, 2));
        x.write(&mut sys, &mut mem, 0x0c, Write::normal(1));
        x.write(&mut sys, &mut mem, 0x10, Write::normal(1));
        assert_eq!((x.read(&mut sys, &mut mem, 0x0c), x.read(&mut sys, &mut mem, 0x10)), (0, 0));
    }

    #[test]
    fn powering_down_disables() {
        let (mut x, mut sys, mut mem) = bench();
        x.write(&mut sys, &mut mem, 0, Write::normal(8 | 1));
        assert_eq!(x.read(&mut sys, &mut mem, 0), 8);
        assert!(!mem.xip.is_sram());
        x.write(&mut sys, &mut mem, 0, Write { bits: 8, alias: Alias::Clear });
        assert!(mem.xip.is_sram());
        x.sram_write(0x3ffd, 0xab, 1);
        assert_eq!(x.sram_read(0x3ffc), 0x0000_ab00);
    }

    #[test]
    fn a_stream_fills_two_words_at_flash_speed_and_waits_for_room() {
        let (mut x, mut sys, mut mem) = bench();
        mem.flash_write(0x100, &(1..=16).collect::<Vec<u8>>());
        x.write(&mut sys, &mut mem, 0x14, Write::normal(0x1000_0100));
        x.write(&mut sys, &mut mem, 0x18, Write::normal(3));
        let due = |cycles: u64| cycles * 8_000;
        assert_eq!(sys.due(event::XIP_STREAM), due(48));
        assert_eq!(sys.take_event(due(48)), Some(event::XIP_STREAM));
        x.stream.event(&mut sys, &mem.xip, |at| mem.flash_u32(at));
        assert_eq!(sys.dreq_level(), 1 << dreq::XIP_STREAM);
        assert_eq!(sys.due(event::XIP_STREAM), due(96));
        assert_eq!(sys.take_event(due(96)), Some(event::XIP_STREAM));
        x.stream.event(&mut sys, &mem.xip, |at| mem.flash_u32(at));
        assert_eq!(sys.take_event(due(1000)), None);
        assert_eq!(x.read(&mut sys, &mut mem, 8), 5);
        sys.cycle = 200;
        assert_eq!(x.stream.take(&mut sys), 0x0403_0201);
        assert_eq!(sys.due(event::XIP_STREAM), due(248));
        assert_eq!(sys.take_event(due(248)), Some(event::XIP_STREAM));
        x.stream.event(&mut sys, &mem.xip, |at| mem.flash_u32(at));
        assert_eq!((x.stream.take(&mut sys), x.stream.take(&mut sys)), (0x0807_0605, 0x0c0b_0a09));
        assert_eq!(
            (sys.dreq_level(), x.read(&mut sys, &mut mem, 0x18), x.read(&mut sys, &mut mem, 0x14)),
            (0, 0, 0x1000_010c)
        );
    }
}
