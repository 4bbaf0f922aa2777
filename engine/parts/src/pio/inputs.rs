//! GPIO inputs of a PIO block: pads, synchronisers (datasheet 3.5.6.3) and the register before each state machine.
//!
//! "Assuming zero propagation delay", a state machine sees its own output two cycles later, or four with synchronisers
//! (datasheet 3.5.6.1): one is the register of its outputs, one that of its inputs.

use sim::{Clock, PS_PER_S, Ps, Snapshot};

/// Changes kept. Inputs need those of three cycles and `PADS_PS`; more edges in that time are external glitches.
pub(super) const KEPT: usize = 8;
const REGISTER_CYCLES: u64 = 1;
/// Flip-flops of the synchroniser.
const SYNC_CYCLES: u64 = 2;
/// From an output's flip-flop by its pad, and by that of the input, to the input's: 3.36 to 10.54 ns at 3.3 V (datasheet
/// 5.5.3.6, table 633). A ring of `mov pins, !pins` takes 8 cycles at 133.3 MHz and 10 at 250 MHz on silicon, so that
/// chip has 4 to 7.5 ns; this is the middle. An edge from elsewhere is late by as much.
const PADS_PS: Ps = 5_750;

/// Levels of all GPIOs over the last changes.
///
/// A flip-flop holds the level of strictly before its edge. An instruction therefore sees the levels of `PADS_PS` and
/// one cycle (bypassed) or three (synchronised) before its own edge.
#[derive(Clone, Debug, Snapshot)]
pub struct Inputs {
    changes: [(Ps, u32); KEPT],
    newest: usize,
    /// INPUT_SYNC_BYPASS.
    pub(crate) bypass: u32,
}

impl Inputs {
    pub(crate) fn new(levels: u32) -> Self {
        Self { changes: [(0, levels); KEPT], newest: 0, bypass: 0 }
    }

    pub(crate) fn levels(&self) -> u32 {
        self.changes[self.newest].1
    }

    pub(crate) fn change(&mut self, at: Ps, levels: u32) {
        if self.changes[self.newest].0 != at {
            self.newest = (self.newest + 1) % KEPT;
        }
        self.changes[self.newest] = (at, levels);
    }

    fn before(&self, time: Ps) -> u32 {
        for age in 0..KEPT {
            let (at, levels) = self.changes[(self.newest + KEPT - age) % KEPT];
            if at < time {
                return levels;
            }
        }
        self.changes[(self.newest + 1) % KEPT].1
    }

    /// Returns the time up to which an instruction of `cycle` has seen changes; `stages`: flip-flops on the way.
    fn seen_until(clock: &Clock, cycle: u64, stages: u64) -> Ps {
        clock.ps_at(cycle).saturating_sub((stages * PS_PER_S).div_ceil(clock.hz()) + PADS_PS)
    }

    /// Returns the levels seen by an instruction whose effects appear at the start of `cycle`.
    pub(crate) fn sample(&self, clock: &Clock, cycle: u64) -> u32 {
        let synchronised = self.before(Self::seen_until(clock, cycle, REGISTER_CYCLES + SYNC_CYCLES));
        if self.bypass == 0 {
            return synchronised;
        }
        let bypassed = self.before(Self::seen_until(clock, cycle, REGISTER_CYCLES));
        (synchronised & !self.bypass) | (bypassed & self.bypass)
    }

    /// Returns the first cycle after `cycle` whose instructions may see a change that those of `cycle` do not, if
    /// known.
    pub(crate) fn next_visible(&self, clock: &Clock, cycle: u64) -> Option<u64> {
        let seen = Self::seen_until(clock, cycle, REGISTER_CYCLES + SYNC_CYCLES);
        let seen_bypassed = Self::seen_until(clock, cycle, REGISTER_CYCLES);
        let changes = self.changes.iter().map(|change| change.0).filter(|&at| at >= seen);
        // With a bypassed pin, a later change may be visible first.
        let next = changes.map(|at| {
            if at >= seen_bypassed {
                self.visible_from(clock, at)
            } else {
                Self::visible_after(clock, at, REGISTER_CYCLES + SYNC_CYCLES)
            }
        });
        next.min().map(|next| next.max(cycle + 1))
    }

    /// Returns the first cycle whose instructions may see a change at `at`.
    pub(crate) fn visible_from(&self, clock: &Clock, at: Ps) -> u64 {
        Self::visible_after(clock, at, REGISTER_CYCLES + if self.bypass == 0 { SYNC_CYCLES } else { 0 })
    }

    fn visible_after(clock: &Clock, at: Ps, stages: u64) -> u64 {
        clock.cycle_at(at + PADS_PS + 1) + stages
    }

    /// Returns the cycles from a change of `pin` at an edge of `clock` to the first instruction that sees it.
    pub(crate) fn delay(&self, clock: &Clock, pin: u32) -> u64 {
        longest_delay(clock) - if self.bypass & (1 << pin) != 0 { SYNC_CYCLES } else { 0 }
    }
}

/// Returns the same for a pin with its synchroniser.
pub fn longest_delay(clock: &Clock) -> u64 {
    1 + PADS_PS * clock.hz() / PS_PER_S + REGISTER_CYCLES + SYNC_CYCLES
}
