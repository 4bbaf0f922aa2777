//! The chip's calls of the recorder for an attribution of time ([`parts::attributed`]).

use attribution::{Recording, state};
use parts::attributed::{self, Counted};

use crate::rp2040::bus::Bus;
use crate::rp2040::chip::Chip;
use crate::rp2040::cpu::core::{Core, State};
use crate::rp2040::map::TIMER;
use crate::rp2040::memory::Memory;

impl Chip {
    /// Starts recording; `limit`: most changes recorded.
    pub(crate) fn start_recording(&mut self, limit: usize) {
        attributed::start(&mut self.bus.sys, &mut self.mem.xip, limit);
        self.note();
    }

    /// Ends recording. `None`: it had not started.
    pub(crate) fn stop_recording(&mut self) -> Option<Recording> {
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
        let core = &self.cores[0];
        let counted = Counted {
            asleep: matches!(core.state, State::Wfi | State::Wfe),
            stopped: matches!(core.state, State::LockedUp | State::Held),
            instructions: [core.instructions, core.flash_instructions, core.rom_instructions, 0, 0],
        };
        attributed::note_core(&mut self.bus.sys, counted);
        self.bus.observe(&mut self.mem, false);
    }
}

impl Bus {
    /// Passes the present state to the recorder.
    #[cold]
    pub(crate) fn observe(&mut self, mem: &mut Memory, always: bool) {
        let shifting = self.blocks.spi.iter().any(|spi| spi.shifting());
        let outside = self.world.attributed(self.sys.now()) | if shifting { state::BUSY } else { 0 };
        attributed::observe(&mut self.sys, &mut mem.xip, self.waited, outside, always);
    }

    #[inline]
    pub(crate) fn count_waits(&mut self, core: &Core, address: u32) {
        if self.sys.records() && core.index == 0 && address >> 28 != 1 {
            self.waited += u64::from(self.waits);
        }
    }

    /// Tells the recorder that core 0 may have read the timer.
    #[cold]
    pub(crate) fn note_clock(&mut self, mem: &mut Memory, core: &Core, address: u32, value: u32) {
        // The timer's registers have atomic aliases.
        let (offset, pc) = (address & 0xfff, core.pc);
        if core.index == 0 && address & 0xffff_c000 == TIMER && attributed::is_clock(&mut self.sys, offset, value, pc) {
            self.observe(mem, true);
            attributed::read_clock(&mut self.sys, 0, value, pc);
        }
    }
}
