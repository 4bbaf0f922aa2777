//! The chip's calls of the recorder for an attribution of time ([`parts::attributed`]).

use attribution::{Recording, state};
use parts::attributed::{self, Counted};

use crate::rp2350::bus::Bus;
use crate::rp2350::chip::Chip;
use crate::rp2350::cores::{Kind, Seen};
use crate::rp2350::cpu::core::State;
use crate::rp2350::map::{BLOCK, TIMER0};
use crate::rp2350::memory::{Architecture, Memory};
use crate::rp2350::wires::tick;

impl<K: Kind> Chip<K> {
    /// Starts recording; `limit`: most changes recorded.
    pub fn start_recording(&mut self, limit: usize) {
        attributed::start(&mut self.bus.sys, &mut self.mem.xip, limit);
        self.note();
    }

    /// Ends recording. `None`: it had not started.
    pub fn stop_recording(&mut self) -> Option<Recording> {
        let now = self.now();
        attributed::stop(&mut self.bus.sys, &mut self.mem.xip, self.bus.waited, now)
    }

    #[inline]
    pub(crate) fn note(&mut self) {
        if self.bus.sys.records() {
            self.note_core();
        }
    }

    #[cold]
    fn note_core(&mut self) {
        let core = K::seen(&self.cores[0]);
        let [all, flash, rom] = core.instructions;
        let counted = Counted {
            asleep: matches!(core.state, State::Wfi | State::Wfe),
            stopped: matches!(core.state, State::LockedUp | State::Held),
            instructions: [all, flash, rom, K::float_instructions(&self.cores[0]), self.bus.dcp_instructions],
        };
        attributed::note_core(&mut self.bus.sys, counted);
        self.bus.observe(&mut self.mem, false);
    }
}

impl Bus {
    /// Passes the present state to the recorder.
    #[cold]
    pub(crate) fn observe(&mut self, mem: &mut Memory<impl Architecture>, always: bool) {
        let shifting = self.blocks.spi.iter().any(|spi| spi.shifting());
        let outside = self.world.attributed(self.sys.now()) | if shifting { state::BUSY } else { 0 };
        attributed::observe(&mut self.sys, &mut mem.xip, self.waited, outside, always);
    }

    #[inline]
    pub(crate) fn count_waits(&mut self, core: usize, address: u32) {
        if self.sys.records() && core == 0 && address >> 28 != 1 {
            self.waited += u64::from(self.waits);
        }
    }

    /// Tells the recorder that core 0 may have read the timer.
    #[cold]
    pub(crate) fn note_clock(&mut self, mem: &mut Memory<impl Architecture>, core: &Seen, address: u32, value: u32) {
        // The timer's registers have atomic aliases.
        let (offset, pc) = (address & 0xfff, core.pc);
        if core.index == 0 && address & BLOCK == TIMER0 && attributed::is_clock(&mut self.sys, offset, value, pc) {
            self.observe(mem, true);
            attributed::read_clock(&mut self.sys, tick::TIMER0, value, pc);
        }
    }
}
