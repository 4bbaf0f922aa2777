//! The INTn pin: level of the pending interrupts, and how long it stays high (datasheet 4.1 "INTLEVEL").

use sim::Ps;

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

    /// Follows the pending state at `now`. `wait`: how long the pin stays high once it is.
    pub fn update(&mut self, now: Ps, pending: bool, wait: Ps) {
        if self.low && !pending {
            self.deassert(now, wait);
        } else if !self.low && pending && now >= self.hold_until {
            self.low = true;
        }
    }

    /// The host has cleared one of the pending interrupts: with a wait the pin goes high for it even when
    /// another interrupt is still pending.
    pub fn acknowledged(&mut self, now: Ps, wait: Ps) {
        if self.low && wait > 0 {
            self.deassert(now, wait);
        }
    }

    fn deassert(&mut self, now: Ps, wait: Ps) {
        self.low = false;
        self.hold_until = now.saturating_add(wait);
    }

    /// When a pending interrupt that waits reaches the pin.
    pub fn next_event(&self, pending: bool) -> Option<Ps> {
        (pending && !self.low).then_some(self.hold_until)
    }
}
