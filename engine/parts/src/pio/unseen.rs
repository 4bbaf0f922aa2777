//! Actions of a block that nothing outside it observes, whatever its programs do: they drive pins that nothing reads.
//! They are executed ahead on a copy of the block, up to one that may move a word, use a flag or change observed pins.
//! The block becomes that copy at that action, or executes the actions itself up to the cycle in which something may
//! observe or disturb it, such as an access to its registers. [`crate::batch`] sees to that.

use super::inputs::KEPT;
use super::{HORIZON_CYCLES, MACHINES, Pio, cycle_now};
use chip::Sys;
use sim::{Clock, NEVER};

/// Actions that a search looks ahead: at first, and at most.
const FIRST: u32 = 16;
const MOST: u32 = 1 << 12;
/// Fewer actions are not worth deferring.
const WORTH: u32 = 4;
/// Most searches left out after one in vain.
const MOST_LEFT_OUT: u32 = 255;

/// Deferred actions, and what a block knows of its searches. It changes no simulated state, and no snapshot has it: a
/// run begins and ends without deferred actions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unseen {
    deferred: Option<Box<Ahead>>,
    /// Actions that the next search looks ahead.
    reach: u32,
    /// Searches to leave out, now and after the next one in vain.
    left_out: u32,
    patience: u32,
}

/// A block after the actions that are deferred, and what they change.
#[derive(Clone, Debug)]
struct Ahead {
    block: Pio,
    changes: Changes,
}

/// Changes of the levels that a block drives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) rose: u32,
    pub(crate) fell: u32,
    newest: [(u64, u32); KEPT],
    count: usize,
}

impl Changes {
    fn note(&mut self, cycle: u64, before: u32, now: u32) {
        if now == before {
            return;
        }
        self.rose |= now & !before;
        self.fell |= before & !now;
        self.newest[self.count % KEPT] = (cycle, now);
        self.count += 1;
    }

    /// Returns the cycles and levels of the newest ones, in order.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (u64, u32)> {
        (self.count.saturating_sub(KEPT)..self.count).map(|index| self.newest[index % KEPT])
    }
}

impl Pio {
    /// Returns the cycle of the block's event, if actions before it are deferred.
    pub(crate) fn unseen_before(&self) -> Option<u64> {
        self.unseen.deferred.as_ref().map(|_| self.due)
    }

    /// Defers the next actions if some do nothing but change levels of pins that are not `observed`. Returns whether
    /// they are deferred.
    pub(crate) fn defer_unseen(&mut self, sys: &mut Sys, observed: u32) -> bool {
        let now = cycle_now(sys);
        let is_served = sys.watched_dreqs() & sys.dreq_level() & self.dreqs() != 0;
        if self.base != 0 || self.due == NEVER || self.due <= now || is_served || self.waits_for_input() {
            return false;
        }
        if self.unseen.left_out > 0 {
            self.unseen.left_out -= 1;
            return false;
        }
        let reach = self.unseen.reach.max(FIRST);
        let until = now + HORIZON_CYCLES;
        let mut ahead = Box::new(Ahead { block: self.clone(), changes: Changes::default() });
        let mut count = 0;
        let due = loop {
            let next = ahead.block.next_action(&sys.clock, until);
            if count == reach || next >= until || ahead.block.moves_words(&sys.clock, next) {
                break next.min(until);
            }
            let [out, oe] = ahead.block.outputs();
            ahead.block.act(&sys.clock, next);
            let is_seen = (out ^ ahead.block.shared.out) & observed != 0 || oe != ahead.block.shared.oe;
            if is_seen || ahead.block.waits_for_input() {
                ahead.block = self.clone();
                ahead.changes = ahead.block.execute(sys, next - 1).0;
                break next;
            }
            ahead.changes.note(next, out, ahead.block.shared.out);
            count += 1;
        };
        if count < WORTH {
            self.unseen.patience = (2 * self.unseen.patience + 1).min(MOST_LEFT_OUT);
            self.unseen.left_out = self.unseen.patience;
            return false;
        }
        self.unseen = Unseen { deferred: Some(ahead), reach, left_out: 0, patience: 0 };
        self.due = due;
        sys.schedule(self.wires.event, sys.clock.ps_at(due));
        true
    }

    /// Runs the deferred actions up to and including cycle `until`. Returns the changes of levels; `None`: none are
    /// deferred.
    pub(crate) fn run_unseen(&mut self, sys: &mut Sys, until: u64) -> Option<Changes> {
        let ahead = self.unseen.deferred.take()?;
        let changes = if until + 1 == self.due {
            let Pio { machines, shared, fdebug, reassert, .. } = ahead.block;
            (self.machines, self.shared, self.fdebug, self.reassert) = (machines, shared, fdebug, reassert);
            self.unseen.reach = MOST.min(2 * self.unseen.reach);
            ahead.changes
        } else {
            let (changes, count) = self.execute(sys, until);
            self.unseen.reach = FIRST.max(count);
            changes
        };
        self.update_pins(sys);
        Some(changes)
    }

    /// Executes the actions up to and including cycle `until`, none of which has other effects outside the block than
    /// the changes that it returns, with their number.
    fn execute(&mut self, sys: &Sys, until: u64) -> (Changes, u32) {
        let mut changes = Changes::default();
        for count in 0.. {
            let next = self.next_action(&sys.clock, until + 1);
            if next > until {
                return (changes, count);
            }
            let before = self.shared.out;
            self.act(&sys.clock, next);
            changes.note(next, before, self.shared.out);
        }
        unreachable!("time passes")
    }

    /// Returns whether the action in cycle `now` may move a word, wait for one, or use a flag.
    fn moves_words(&mut self, clock: &Clock, now: u64) -> bool {
        self.machines.iter_mut().any(|machine| machine.moves_words(&self.shared, clock, now))
    }

    /// Returns the bits of the block's requests: DMA soon moves a word for one that is high and awaited.
    fn dreqs(&self) -> u64 {
        let first = |dreq: u32| ((1 << MACHINES) - 1) << dreq;
        first(self.wires.tx_dreq) | first(self.wires.rx_dreq)
    }

    fn waits_for_input(&self) -> bool {
        self.machines.iter().any(|machine| machine.state.waits_for_input())
    }
}
