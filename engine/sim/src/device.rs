//! The trait that all devices on a board implement.

use crate::time::Ps;

/// A device that has further pins beside its bus. `now` never decreases between calls.
pub trait Device: Send {
    /// The part's name as its maker writes it: `W5500`.
    fn name(&self) -> &'static str;
    /// Level of the reset pin.
    fn set_reset(&mut self, _now: Ps, _low: bool) {}
    /// Level of the interrupt pin at the time of the last call that had a time argument.
    fn interrupt_low(&self) -> bool {
        false
    }
    /// Earliest time at which [`Self::advance`] has something to do.
    fn next_event(&self) -> Option<Ps> {
        None
    }
    /// Takes what the device's owner has changed between two runs; true: the device has to be looked at again.
    fn take_changes(&mut self) -> bool {
        false
    }
    /// Takes whether something that this trait tells may have changed since the last call.
    fn take_touched(&mut self) -> bool {
        true
    }
    /// Takes the description of an unmodelled request made since the last call. It ends the run.
    fn take_unmodelled(&mut self) -> Option<String> {
        None
    }
    /// Runs the device's own timers up to and including `now`.
    fn advance(&mut self, _now: Ps) {}
}
