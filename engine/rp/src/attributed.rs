//! The chip's calls of the recorder for an attribution of time ([`parts::attributed`]).

use attribution::state;
use chip::attributed::{self, Counted};
use cpu::{Architecture, State};

use crate::bus::{Bus, Fabric, Memory};
use crate::chip::Chip;
use crate::cores::{Kind, Seen};

impl<F: Fabric, K: Kind<F>> Chip<F, K> {
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
        let (float, coprocessor) = (K::float_instructions(&self.cores[0]), self.bus.own.coprocessor_instructions());
        let counted = Counted {
            asleep: matches!(core.state, State::Wfi | State::Wfe),
            stopped: matches!(core.state, State::LockedUp | State::Held),
            instructions: [all, flash, rom, float, coprocessor],
        };
        attributed::note_core(&mut self.bus.sys, counted);
        self.bus.observe(&mut self.mem, false);
    }
}

impl<F: Fabric> Bus<F> {
    /// Passes the present state to the recorder.
    #[cold]
    pub(crate) fn observe(&mut self, mem: &mut Memory<F, impl Architecture>, always: bool) {
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
    pub(crate) fn note_clock(&mut self, mem: &mut Memory<F, impl Architecture>, core: &Seen, address: u32, value: u32) {
        let (timer, tick) = F::TIMER;
        // The timer's registers have atomic aliases.
        let (offset, pc) = (address & 0xfff, core.pc);
        if core.index == 0 && address & F::BLOCK == timer && attributed::is_clock(&mut self.sys, offset, value, pc) {
            self.observe(mem, true);
            attributed::read_clock(&mut self.sys, tick, value, pc);
        }
    }
}
