//! XIP_CTRL: cache control, streaming, and the cache used as SRAM (datasheet 2.6.3).

use super::{Alias, Write};
use crate::memory::Memory;
use crate::sys::Sys;
use crate::wires::{dreq, event};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const SRAM_SIZE: usize = 16 * 1024;
const STREAM_DEPTH: usize = 2;
/// Cycles of clk_sys that clearing the tags takes: one per set and way counter step (datasheet 2.6.3.2: "just over 1024").
const FLUSH_CYCLES: u64 = 1024;

mod ctrl {
    pub(crate) const EN: u32 = 1;
    pub(crate) const ERR_BADWRITE: u32 = 2;
    pub(crate) const POWER_DOWN: u32 = 8;
    pub(crate) const MASK: u32 = 0xb;
}
mod stat {
    pub(crate) const FLUSH_READY: u32 = 1;
    pub(crate) const FIFO_EMPTY: u32 = 2;
    pub(crate) const FIFO_FULL: u32 = 4;
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct XipCtrl {
    ctrl: u32,
    flush_done_cycle: u64,
    /// Counts of the cache when CTR_ACC and CTR_HIT were cleared.
    accesses_base: u64,
    hits_base: u64,
    stream_addr: u32,
    stream_ctr: u32,
    stream: VecDeque<u32>,
    /// The flash is reading a stream word.
    in_flight: bool,
    /// Cycles of one flash read when the cache was last inspected.
    word_cycles: u32,
    sram: Vec<u8>,
    stall_cycles: u32,
}

impl Default for XipCtrl {
    fn default() -> Self {
        Self {
            ctrl: ctrl::EN | ctrl::ERR_BADWRITE,
            flush_done_cycle: 0,
            accesses_base: 0,
            hits_base: 0,
            stream_addr: 0,
            stream_ctr: 0,
            stream: VecDeque::with_capacity(STREAM_DEPTH),
            in_flight: false,
            word_cycles: 0,
            sram: vec![0; SRAM_SIZE],
            stall_cycles: 0,
        }
    }
}

fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
                self.stall_cycles = saturate(self.flush_done_cycle.saturating_sub(cycle(sys)));
                0
            }
            0x08 => {
                let mut value = 0;
                if cycle(sys) >= self.flush_done_cycle {
                    value |= stat::FLUSH_READY;
                }
                if self.stream.is_empty() {
                    value |= stat::FIFO_EMPTY;
                }
                if self.stream.len() == STREAM_DEPTH {
                    value |= stat::FIFO_FULL;
                }
                value
            }
            0x0c => saturate((mem.xip.accesses - mem.xip.misses).saturating_sub(self.hits_base)),
            0x10 => saturate(mem.xip.accesses.saturating_sub(self.accesses_base)),
            0x14 => self.stream_addr,
            0x18 => self.stream_ctr,
            0x1c => self.stream_read(sys),
            _ => 0,
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
            0x0c => self.hits_base = mem.xip.accesses - mem.xip.misses,
            0x10 => self.accesses_base = mem.xip.accesses,
            0x14 => self.stream_addr = write.apply(self.stream_addr) & !3,
            0x18 => {
                self.stream_ctr = write.apply(self.stream_ctr) & 0x003f_ffff;
                if self.stream_ctr == 0 {
                    self.in_flight = false;
                    sys.cancel(event::XIP_STREAM);
                }
                self.word_cycles = mem.xip.uncached_cycles;
                self.request(sys);
            }
            _ => {}
        }
    }

    /// Starts the next flash read of the stream if the FIFO has space for it.
    fn request(&mut self, sys: &mut Sys) {
        if !self.in_flight && self.stream_ctr != 0 && self.stream.len() < STREAM_DEPTH {
            self.in_flight = true;
            let due = cycle(sys).saturating_add(u64::from(self.word_cycles.max(1)));
            sys.schedule(event::XIP_STREAM, sys.clock.ps_at(due));
        }
    }

    /// Handles `event::XIP_STREAM`: a word arrived from the flash.
    pub(crate) fn event(&mut self, sys: &mut Sys, mem: &mut Memory) {
        if !std::mem::take(&mut self.in_flight) || self.stream_ctr == 0 {
            return;
        }
        self.stream.push_back(mem.flash_u32((self.stream_addr & 0x00ff_ffff) as usize));
        self.stream_addr = self.stream_addr.wrapping_add(4);
        self.stream_ctr -= 1;
        self.word_cycles = mem.xip.uncached_cycles;
        if mem.xip.offline {
            sys.unmodelled("XIP_CTRL stream while the flash cannot answer".to_owned());
        }
        sys.set_dreq(dreq::XIP_STREAM, true);
        self.request(sys);
    }

    /// Reads STREAM_FIFO, also through its low-latency AHB alias at 0x5040_0000. An empty FIFO reads 0.
    pub(crate) fn stream_read(&mut self, sys: &mut Sys) -> u32 {
        let word = self.stream.pop_front().unwrap_or(0);
        sys.set_dreq(dreq::XIP_STREAM, !self.stream.is_empty());
        self.request(sys);
        word
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
        sys.cancel(event::XIP_STREAM);
        sys.set_dreq(dreq::XIP_STREAM, false);
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
        (XipCtrl::default(), crate::wires::sys(125_000_000), mem)
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
        x.event(&mut sys, &mut mem);
        assert_eq!(sys.dreq_level(), 1 << dreq::XIP_STREAM);
        assert_eq!(sys.due(event::XIP_STREAM), due(96));
        assert_eq!(sys.take_event(due(96)), Some(event::XIP_STREAM));
        x.event(&mut sys, &mut mem);
        assert_eq!(sys.take_event(due(1000)), None);
        assert_eq!(x.read(&mut sys, &mut mem, 8), 5);
        sys.cycle = 200;
        assert_eq!(x.stream_read(&mut sys), 0x0403_0201);
        assert_eq!(sys.due(event::XIP_STREAM), due(248));
        assert_eq!(sys.take_event(due(248)), Some(event::XIP_STREAM));
        x.event(&mut sys, &mut mem);
        assert_eq!((x.stream_read(&mut sys), x.stream_read(&mut sys)), (0x0807_0605, 0x0c0b_0a09));
        assert_eq!(
            (sys.dreq_level(), x.read(&mut sys, &mut mem, 0x18), x.read(&mut sys, &mut mem, 0x14)),
            (0, 0, 0x1000_010c)
        );
    }
}
