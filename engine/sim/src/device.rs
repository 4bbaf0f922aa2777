//! What everything that is soldered to a board has in common.

use crate::time::Ps;

/// A device with pins of its own beside its bus. `now` never goes back between calls.
pub trait Device: Send {
    /// The part's name as its maker writes it: `W5500`.
    fn name(&self) -> &'static str;
    /// Level of the reset pin.
    fn set_reset(&mut self, _now: Ps, _low: bool) {}
    /// Level of the interrupt pin as of the last call that told a time.
    fn interrupt_low(&self) -> bool {
        false
    }
    /// Earliest time at which [`Self::advance`] has something to do.
    fn next_event(&self) -> Option<Ps> {
        None
    }
    /// What was asked of the device that is not modelled, since the last call: it ends the run.
    fn take_unmodelled(&mut self) -> Option<String> {
        None
    }
    /// Runs the device's own timers up to and including `now`.
    fn advance(&mut self, _now: Ps) {}
}
