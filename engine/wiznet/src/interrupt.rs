//! The INTn pin: its level from the pending interrupts, and its shortest high time (datasheet 4.1 "INTLEVEL").

use sim::{Ps, Snapshot};

#[derive(Default, Snapshot)]
pub(crate) struct IntPin {
    low: bool,
    /// Time before which INTn cannot be asserted.
    hold_until: Ps,
}

impl IntPin {
    pub(crate) fn low(&self) -> bool {
        self.low
    }

    /// Updates the pin from the pending state at `now`. `wait`: the shortest high time.
    pub(crate) fn update(&mut self, now: Ps, pending: bool, wait: Ps) {
        if self.low && !pending {
            self.deassert(now, wait);
        } else if !self.low && pending && now >= self.hold_until {
            self.low = true;
        }
    }

    /// Handles the clearing of a pending interrupt by the host: with a wait the pin goes high for that time even if
    /// another interrupt is still pending.
    pub(crate) fn acknowledged(&mut self, now: Ps, wait: Ps) {
        if self.low && wait > 0 {
            self.deassert(now, wait);
        }
    }

    fn deassert(&mut self, now: Ps, wait: Ps) {
        self.low = false;
        self.hold_until = now.saturating_add(wait);
    }

    /// Returns when a waiting interrupt asserts the pin.
    pub(crate) fn next_event(&self, pending: bool) -> Option<Ps> {
        (pending && !self.low).then_some(self.hold_until)
    }
}
