//! GPIO inputs of a PIO block with their synchronisers (datasheet 3.5.6.3).

use sim::{Clock, PS_PER_S, Ps};

/// Changes kept. The synchroniser needs those of two cycles; more edges than this in two cycles are external glitches.
const KEPT: usize = 8;
/// Flip-flops of the synchroniser.
pub const SYNC_CYCLES: u64 = 2;

/// Levels of all GPIOs over the last changes.
///
/// A pin that changes at an edge of clk_sys is sampled by its flip-flop at the next edge. An instruction therefore sees
/// the levels of strictly before its own edge (bypassed) or strictly before the edge two cycles earlier (synchronised).
#[derive(Clone, Debug)]
pub struct Inputs {
    changes: [(Ps, u32); KEPT],
    newest: usize,
    /// INPUT_SYNC_BYPASS.
    pub bypass: u32,
}

impl Inputs {
    pub fn new(levels: u32) -> Self {
        Self { changes: [(0, levels); KEPT], newest: 0, bypass: 0 }
    }

    pub fn levels(&self) -> u32 {
        self.changes[self.newest].1
    }

    pub fn change(&mut self, at: Ps, levels: u32) {
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

    fn synchronised_edge(&self, clock: &Clock, cycle: u64) -> Ps {
        clock.ps_at(cycle).saturating_sub((SYNC_CYCLES * PS_PER_S).div_ceil(clock.hz()))
    }

    /// Returns the levels seen by an instruction whose effects appear at the start of `cycle`.
    pub fn sample(&self, clock: &Clock, cycle: u64) -> u32 {
        let synchronised = self.before(self.synchronised_edge(clock, cycle));
        if self.bypass == 0 {
            return synchronised;
        }
        (synchronised & !self.bypass) | (self.before(clock.ps_at(cycle)) & self.bypass)
    }

    /// Returns the first cycle after `cycle` whose instructions may see a change that those of `cycle` do not, if
    /// known.
    pub fn next_visible(&self, clock: &Clock, cycle: u64) -> Option<u64> {
        let (seen, seen_bypassed) = (self.synchronised_edge(clock, cycle), clock.ps_at(cycle));
        (1..=KEPT).map(|age| self.changes[(self.newest + age) % KEPT].0).find(|&at| at >= seen).map(|at| {
            let synchronised = clock.cycle_at(at + 1) + SYNC_CYCLES;
            let next = if at >= seen_bypassed { self.visible_from(clock, at) } else { synchronised };
            next.max(cycle + 1)
        })
    }

    /// Returns the first cycle whose instructions may see a change at `at`.
    pub fn visible_from(&self, clock: &Clock, at: Ps) -> u64 {
        clock.cycle_at(at + 1) + if self.bypass == 0 { SYNC_CYCLES } else { 0 }
    }
}
