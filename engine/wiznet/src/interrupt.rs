//! The INTn pin: level of the pending interrupts, and INTLEVEL's wait (datasheet 4.1 "INTLEVEL").

use sim::Ps;

use crate::time::interrupt_assert_wait;

#[derive(Default)]
pub struct IntPin {
    low: bool,
    /// INTn may not be asserted before this time.
    hold_until: Ps,
}

impl IntPin {
    pub fn low(&self) -> bool {
        self.low
    }

    /// Follows the pending state at `now`.
    pub fn update(&mut self, now: Ps, pending: bool, intlevel: u16) {
        if self.low && !pending {
            self.deassert(now, intlevel);
        } else if !self.low && pending && now >= self.hold_until {
            self.low = true;
        }
    }

    /// The host has cleared one of the pending interrupts: with INTLEVEL > 0 the pin goes high for I_AWT even when
    /// another interrupt is still pending.
    pub fn acknowledged(&mut self, now: Ps, intlevel: u16) {
        if self.low && intlevel > 0 {
            self.deassert(now, intlevel);
        }
    }

    fn deassert(&mut self, now: Ps, intlevel: u16) {
        self.low = false;
        self.hold_until = now.saturating_add(interrupt_assert_wait(intlevel));
    }

    /// When a pending interrupt that INTLEVEL delays reaches the pin.
    pub fn next_event(&self, pending: bool) -> Option<Ps> {
        (pending && !self.low).then_some(self.hold_until)
    }
}
