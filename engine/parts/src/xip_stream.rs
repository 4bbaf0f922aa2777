//! What every version of XIP_CTRL has beside the cache's control: the counters of its accesses, and the stream of words
//! from flash to DMA (RP2040 datasheet 2.6.3, RP2350 datasheet 4.4.3).

use std::collections::VecDeque;

use sim::Snapshot;

use chip::xip_cache::XipCache;
use chip::{Event, Sys, Write};

const DEPTH: usize = 2;
/// Bits of STAT.
const FIFO_EMPTY: u32 = 2;
const FIFO_FULL: u32 = 4;

/// The counters and the stream.
#[derive(Debug, Snapshot)]
pub struct XipStream {
    event: Event,
    dreq: u32,
    /// Counts of the cache when CTR_ACC and CTR_HIT were cleared.
    accesses_base: u64,
    hits_base: u64,
    address: u32,
    count: u32,
    fifo: VecDeque<u32>,
    /// The flash is reading a word.
    in_flight: bool,
    /// Cycles of one flash read when the cache was last inspected.
    word_cycles: u32,
}

fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl XipStream {
    /// Returns it after a reset. `event`: the arrival of its next word.
    pub fn new(event: Event, dreq: u32) -> Self {
        Self {
            event,
            dreq,
            accesses_base: 0,
            hits_base: 0,
            address: 0,
            count: 0,
            fifo: VecDeque::with_capacity(DEPTH),
            in_flight: false,
            word_cycles: 0,
        }
    }

    /// Reads a register; of STAT the bits of the FIFO.
    pub fn read(&mut self, sys: &mut Sys, xip: &XipCache, offset: u32) -> u32 {
        match offset {
            0x08 => {
                let empty = if self.fifo.is_empty() { FIFO_EMPTY } else { 0 };
                empty | if self.fifo.len() == DEPTH { FIFO_FULL } else { 0 }
            }
            0x0c => saturate((xip.accesses - xip.misses).saturating_sub(self.hits_base)),
            0x10 => saturate(xip.accesses.saturating_sub(self.accesses_base)),
            0x14 => self.address,
            0x18 => self.count,
            0x1c => self.take(sys),
            _ => 0,
        }
    }

    /// Writes a register.
    pub fn write(&mut self, sys: &mut Sys, xip: &XipCache, offset: u32, write: Write) {
        match offset {
            0x0c => self.hits_base = xip.accesses - xip.misses,
            0x10 => self.accesses_base = xip.accesses,
            0x14 => self.address = write.apply(self.address) & !3,
            0x18 => {
                self.count = write.apply(self.count) & 0x003f_ffff;
                if self.count == 0 {
                    self.in_flight = false;
                    sys.cancel(self.event);
                }
                self.word_cycles = xip.uncached_cycles;
                self.request(sys);
            }
            _ => {}
        }
    }

    /// Returns the address of the next word.
    pub fn address(&self) -> u32 {
        self.address
    }

    /// Starts the next flash read if the FIFO has space for it.
    fn request(&mut self, sys: &mut Sys) {
        if !self.in_flight && self.count != 0 && self.fifo.len() < DEPTH {
            self.in_flight = true;
            let due = sys.now_cycle().saturating_add(u64::from(self.word_cycles.max(1)));
            sys.schedule(self.event, sys.clock.ps_at(due));
        }
    }

    /// Handles the arrival of a word; `word` reads it at an offset in flash.
    pub fn event(&mut self, sys: &mut Sys, xip: &XipCache, word: impl FnOnce(usize) -> u32) {
        if !std::mem::take(&mut self.in_flight) || self.count == 0 {
            return;
        }
        self.fifo.push_back(word((self.address & 0x00ff_ffff) as usize));
        self.address = self.address.wrapping_add(4);
        self.count -= 1;
        self.word_cycles = xip.uncached_cycles;
        if xip.offline {
            sys.unmodelled("XIP_CTRL stream while the flash cannot answer".to_owned());
        }
        sys.set_dreq(self.dreq, true);
        self.request(sys);
    }

    /// Reads STREAM_FIFO, also through its alias for DMA. An empty FIFO reads 0.
    pub fn take(&mut self, sys: &mut Sys) -> u32 {
        let word = self.fifo.pop_front().unwrap_or(0);
        sys.set_dreq(self.dreq, !self.fifo.is_empty());
        self.request(sys);
        word
    }

    /// Resets the registers.
    pub fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.event, self.dreq);
        sys.cancel(self.event);
        sys.set_dreq(self.dreq, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_stream_fills_two_words_at_flash_speed_and_waits_for_room() {
        let (event, dreq) = (testing::event::SPI0, testing::dreq::SPI0_TX);
        let (mut stream, mut sys, mut xip) =
            (XipStream::new(event, dreq), testing::sys(125_000_000), XipCache::default());
        (xip.offline, xip.uncached_cycles) = (false, 48);
        let word = |at: usize| at as u32 + 0x1000;
        stream.write(&mut sys, &xip, 0x14, Write::normal(0x1000_0100));
        stream.write(&mut sys, &xip, 0x18, Write::normal(3));
        let due = |cycles: u64| cycles * 8_000;
        for cycle in [48, 96] {
            assert_eq!(sys.due(event), due(cycle));
            assert_eq!(sys.take_event(due(cycle)), Some(event));
            stream.event(&mut sys, &xip, word);
            assert_eq!(sys.dreq_level(), 1 << dreq);
        }
        assert_eq!(sys.take_event(due(1000)), None);
        assert_eq!(stream.read(&mut sys, &xip, 8), FIFO_FULL);
        sys.cycle = 200;
        assert_eq!(stream.take(&mut sys), 0x1100);
        assert_eq!(sys.due(event), due(248));
        assert_eq!(sys.take_event(due(248)), Some(event));
        stream.event(&mut sys, &xip, word);
        assert_eq!((stream.take(&mut sys), stream.read(&mut sys, &xip, 0x1c)), (0x1104, 0x1108));
        assert_eq!(
            (sys.dreq_level(), stream.read(&mut sys, &xip, 0x18), stream.read(&mut sys, &xip, 0x14)),
            (0, 0, 0x1000_010c)
        );
        assert_eq!(stream.read(&mut sys, &xip, 8), FIFO_EMPTY);
    }
}
