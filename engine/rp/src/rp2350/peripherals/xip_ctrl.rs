//! XIP_CTRL: the cache's control, its counters, and streaming to DMA (datasheet 4.4.3 to 4.4.5).

use super::{Write, unmodelled};
use crate::rp2350::wires::{dreq, event};
use chip::Sys;
use chip::xip_cache::XipCache;
use parts::xip_stream::XipStream;
use sim::Snapshot;

mod ctrl {
    pub(super) const EN_SECURE: u32 = 1 << 0;
    pub(super) const POWER_DOWN: u32 = 1 << 3;
    pub(super) const NO_UNCACHED_SEC: u32 = 1 << 4;
    pub(super) const NO_UNTRANSLATED_SEC: u32 = 1 << 6;
    pub(super) const SPLIT_WAYS: u32 = 1 << 9;
    pub(super) const WRITABLE_M0: u32 = 1 << 10;
    pub(super) const WRITABLE_M1: u32 = 1 << 11;
    pub(super) const MASK: u32 = 0xffb;
    pub(super) const RESET: u32 = 0x83;
}
#[derive(Debug, Snapshot)]
pub struct XipCtrl {
    ctrl: u32,
    pub stream: XipStream,
}

impl Default for XipCtrl {
    fn default() -> Self {
        Self { ctrl: ctrl::RESET, stream: XipStream::new(event::XIP_STREAM, dreq::XIP_STREAM) }
    }
}

impl XipCtrl {
    /// Returns whether Secure code may read the uncached windows, with or without translation.
    pub fn allows_uncached(&self, translated: bool) -> bool {
        let refused = if translated { ctrl::NO_UNCACHED_SEC } else { ctrl::NO_UNTRANSLATED_SEC };
        self.ctrl & refused == 0
    }

    /// Returns whether the second window may be written.
    pub fn second_is_writable(&self) -> bool {
        self.ctrl & ctrl::WRITABLE_M1 != 0
    }

    pub fn read(&mut self, sys: &mut Sys, xip: &XipCache, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl,
            _ => self.stream.read(sys, xip, offset),
        }
    }

    pub fn write(&mut self, sys: &mut Sys, xip: &mut XipCache, offset: u32, write: Write) {
        match offset {
            0x00 => {
                self.ctrl = write.apply_masked(self.ctrl, ctrl::MASK);
                if self.ctrl & (ctrl::POWER_DOWN | ctrl::SPLIT_WAYS | ctrl::WRITABLE_M0) != 0 {
                    unmodelled(sys, "XIP_CTRL.CTRL", offset, Some(self.ctrl));
                }
                let enabled = self.ctrl & ctrl::EN_SECURE != 0;
                if !enabled && xip.is_dirty() {
                    unmodelled(sys, "XIP_CTRL.CTRL: cache disabled with dirty lines", offset, Some(self.ctrl));
                }
                xip.configure(enabled, false);
            }
            _ => self.stream.write(sys, xip, offset, write),
        }
    }

    /// Resets the registers; the cache keeps its lines (datasheet 4.4.1.3).
    pub fn reset(&mut self, sys: &mut Sys) {
        self.ctrl = ctrl::RESET;
        self.stream.reset(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> (XipCtrl, Sys, XipCache) {
        let mut xip = XipCache::default();
        (xip.offline, xip.whole_lines, xip.miss_cycles) = (false, true, 108);
        (XipCtrl::default(), crate::rp2350::wires::sys(150_000_000), xip)
    }

    #[test]
    fn reset_values_and_counters() {
        let (mut x, mut sys, mut xip) = bench();
        for (offset, value) in [(0x00, 0x83), (0x08, 2), (0x0c, 0), (0x10, 0), (0x14, 0), (0x18, 0), (0x1c, 0)] {
            assert_eq!(x.read(&mut sys, &xip, offset), value, "{offset:#x}");
        }
        // A miss fills both words.
        assert_eq!([0, 4, 0].map(|offset| xip.access_word(offset)), [108, 0, 0]);
        assert_eq!((x.read(&mut sys, &xip, 0x0c), x.read(&mut sys, &xip, 0x10)), (2, 3));
        x.write(&mut sys, &mut xip, 0x10, Write::normal(1));
        assert_eq!(x.read(&mut sys, &xip, 0x10), 0);
    }
}
