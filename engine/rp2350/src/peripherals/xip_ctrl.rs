//! XIP_CTRL: the cache's control, its counters, and streaming to DMA (datasheet 4.4.3 to 4.4.5).

use super::{Write, unmodelled};
use crate::memory::Memory;
use crate::sys::Sys;
use crate::wires::{dreq, event};
use std::collections::VecDeque;

const STREAM_DEPTH: usize = 2;

mod ctrl {
    pub const EN_SECURE: u32 = 1 << 0;
    pub const POWER_DOWN: u32 = 1 << 3;
    pub const NO_UNCACHED_SEC: u32 = 1 << 4;
    pub const NO_UNTRANSLATED_SEC: u32 = 1 << 6;
    pub const SPLIT_WAYS: u32 = 1 << 9;
    pub const WRITABLE_M1: u32 = 1 << 11;
    pub const MASK: u32 = 0xffb;
    pub const RESET: u32 = 0x83;
}
mod stat {
    pub const FIFO_EMPTY: u32 = 2;
    pub const FIFO_FULL: u32 = 4;
}

#[derive(Debug)]
pub struct XipCtrl {
    ctrl: u32,
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
}

impl Default for XipCtrl {
    fn default() -> Self {
        Self {
            ctrl: ctrl::RESET,
            accesses_base: 0,
            hits_base: 0,
            stream_addr: 0,
            stream_ctr: 0,
            stream: VecDeque::with_capacity(STREAM_DEPTH),
            in_flight: false,
            word_cycles: 0,
        }
    }
}

fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl XipCtrl {
    /// Returns whether Secure code may read the uncached windows, with or without translation.
    pub fn allows_uncached(&self, translated: bool) -> bool {
        let refused = if translated { ctrl::NO_UNCACHED_SEC } else { ctrl::NO_UNTRANSLATED_SEC };
        self.ctrl & refused == 0
    }

    pub fn read(&mut self, sys: &mut Sys, mem: &mut Memory, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl,
            0x08 => {
                let empty = if self.stream.is_empty() { stat::FIFO_EMPTY } else { 0 };
                empty | if self.stream.len() == STREAM_DEPTH { stat::FIFO_FULL } else { 0 }
            }
            0x0c => saturate((mem.xip.accesses - mem.xip.misses).saturating_sub(self.hits_base)),
            0x10 => saturate(mem.xip.accesses.saturating_sub(self.accesses_base)),
            0x14 => self.stream_addr,
            0x18 => self.stream_ctr,
            0x1c => self.stream_read(sys),
            _ => 0,
        }
    }

    pub fn write(&mut self, sys: &mut Sys, mem: &mut Memory, offset: u32, write: Write) {
        match offset {
            0x00 => {
                self.ctrl = write.apply_masked(self.ctrl, ctrl::MASK);
                if self.ctrl & (ctrl::POWER_DOWN | ctrl::SPLIT_WAYS | ctrl::WRITABLE_M1) != 0 {
                    unmodelled(sys, "XIP_CTRL.CTRL", offset, Some(self.ctrl));
                }
                mem.xip.configure(self.ctrl & ctrl::EN_SECURE != 0, false);
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
            let due = sys.now_cycle().saturating_add(u64::from(self.word_cycles.max(1)));
            sys.schedule(event::XIP_STREAM, sys.clock.ps_at(due));
        }
    }

    /// Handles `event::XIP_STREAM`: a word arrived from the flash.
    pub fn event(&mut self, sys: &mut Sys, mem: &mut Memory) {
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

    /// Reads STREAM_FIFO, also through XIP_AUX. An empty FIFO reads 0.
    pub fn stream_read(&mut self, sys: &mut Sys) -> u32 {
        let word = self.stream.pop_front().unwrap_or(0);
        sys.set_dreq(dreq::XIP_STREAM, !self.stream.is_empty());
        self.request(sys);
        word
    }

    /// Resets the registers; the cache keeps its lines (datasheet 4.4.1.3).
    pub fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
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
        mem.xip.whole_lines = true;
        mem.xip.miss_cycles = 108;
        mem.xip.uncached_cycles = 84;
        (XipCtrl::default(), crate::wires::sys(150_000_000), mem)
    }

    #[test]
    fn reset_values_and_counters() {
        let (mut x, mut sys, mut mem) = bench();
        for (offset, value) in [(0x00, 0x83), (0x08, 2), (0x0c, 0), (0x10, 0), (0x14, 0), (0x18, 0), (0x1c, 0)] {
            assert_eq!(x.read(&mut sys, &mut mem, offset), value, "{offset:#x}");
        }
        // A miss fills both words.
        assert_eq!([0, 4, 0].map(|offset| mem.xip.access_word(offset)), [108, 0, 0]);
        assert_eq!((x.read(&mut sys, &mut mem, 0x0c), x.read(&mut sys, &mut mem, 0x10)), (2, 3));
        x.write(&mut sys, &mut mem, 0x10, Write::normal(1));
        assert_eq!(x.read(&mut sys, &mut mem, 0x10), 0);
    }

    #[test]
    fn a_stream_waits_for_room() {
        let (mut x, mut sys, mut mem) = bench();
        mem.flash_write(0x100, &(1..=12).collect::<Vec<u8>>());
        x.write(&mut sys, &mut mem, 0x14, Write::normal(0x100));
        x.write(&mut sys, &mut mem, 0x18, Write::normal(3));
        for word in 1..=2 {
            let due = sys.due(event::XIP_STREAM);
            assert_eq!(due, sys.clock.ps_at(84 * word));
            sys.take_event(due);
            x.event(&mut sys, &mut mem);
        }
        assert_eq!((x.read(&mut sys, &mut mem, 8), sys.dreq_level()), (stat::FIFO_FULL, 1 << dreq::XIP_STREAM));
        assert_eq!(x.stream_read(&mut sys), 0x0403_0201);
        let due = sys.due(event::XIP_STREAM);
        sys.take_event(due);
        x.event(&mut sys, &mut mem);
        assert_eq!((x.stream_read(&mut sys), x.stream_read(&mut sys)), (0x0807_0605, 0x0c0b_0a09));
        assert_eq!((sys.dreq_level(), x.read(&mut sys, &mut mem, 0x18)), (0, 0));
    }
}
