//! One of the four state machines in its block, which runs it lazily up to its next observable action.

use super::config::{Config, FJOIN_RX, FJOIN_TX, PinWrite, SHIFTCTRL_MASK};
use super::divider::Divider;
use super::fifo::Fifos;
use super::machine::{Effects, FDEBUG_RXSTALL, Shared, Stall, State, View};
use super::pass::{Batch, Deferred, Pass, Sampled, Word};
use crate::wires::Version;
use sim::{Clock, NEVER, Snapshot};

/// Most quiet instructions executed by one event.
const LOOKAHEAD: u32 = 128;

#[derive(Clone, Debug, Snapshot)]
pub(crate) struct Machine {
    pub(crate) index: u32,
    pub(crate) config: Config,
    divider: Divider,
    pub(crate) fifos: Fifos,
    /// State as of an earlier cycle; only quiet instructions have been due since then.
    pub(crate) state: State,
    /// State at its next event, valid while its inputs do not change.
    pub(crate) ahead: Option<State>,
    /// Cycle in which autopull takes a word between two OUTs ([`NEVER`]: none due).
    pub(crate) refill: u64,
    /// OUT_STICKY: the writes to levels and directions that remain asserted.
    pub(crate) sticky: [Option<PinWrite>; 2],
    /// Cycle of the last write to FDEBUG.
    pub(crate) fdebug_cleared: u64,
}

impl Machine {
    pub(crate) fn new(index: u32, version: Version) -> Self {
        Self {
            index,
            config: Config { version, ..Config::new() },
            divider: Divider::new(),
            fifos: Fifos::joined(false, false),
            state: State::new(),
            ahead: None,
            refill: NEVER,
            sticky: [None; 2],
            fdebug_cleared: 0,
        }
    }

    fn view<'a>(&'a mut self, shared: &'a Shared, clock: &'a Clock) -> (View<'a>, &'a mut Fifos, &'a mut State) {
        let view = View { index: self.index, config: &self.config, divider: &self.divider, shared, clock };
        (view, &mut self.fifos, &mut self.state)
    }

    /// Returns the cycle of the next attempt to execute an instruction, if known.
    pub(crate) fn next(&self) -> u64 {
        self.ahead.as_ref().unwrap_or(&self.state).next()
    }

    /// Brings the state up to cycle `now`.
    pub(crate) fn sync(&mut self, shared: &Shared, clock: &Clock, now: u64) {
        let (view, fifos, state) = self.view(shared, clock);
        state.run_quiet(&view, fifos, now, 2 * LOOKAHEAD);
    }

    /// Brings the state up to cycle `now` before something changes that the state machine depends on.
    pub(crate) fn disturb(&mut self, shared: &Shared, clock: &Clock, now: u64) {
        self.sync(shared, clock, now);
        self.ahead = None;
    }

    /// Returns the cycle of the next observable action, if it is known without looking ahead.
    pub(crate) fn known_next(&mut self, shared: &Shared, clock: &Clock) -> Option<u64> {
        let refill = self.refill;
        if let Some(ahead) = &self.ahead {
            return Some(refill.min(ahead.next()));
        }
        let (view, fifos, state) = self.view(shared, clock);
        let next = state.next();
        (next == NEVER || !state.is_quiet(&view, fifos)).then(|| refill.min(next))
    }

    /// Returns whether the action in cycle `now`, its next one or a later one, may move a word, wait for one, or use a
    /// flag.
    pub(crate) fn moves_words(&mut self, shared: &Shared, clock: &Clock, now: u64) -> bool {
        let (next, refill) = (self.ahead.unwrap_or(self.state), self.refill);
        let (view, fifos, _) = self.view(shared, clock);
        refill <= now || next.next() <= now && next.moves_words(&view, fifos)
    }

    /// Looks ahead up to cycle `until`. Returns the cycle of the next action.
    pub(crate) fn look_ahead(&mut self, shared: &Shared, clock: &Clock, until: u64) -> u64 {
        let mut ahead = self.state;
        ahead.clear_reliance();
        let (view, fifos, _) = self.view(shared, clock);
        ahead.run_quiet(&view, fifos, until, LOOKAHEAD);
        self.ahead = Some(ahead);
        self.refill.min(ahead.next())
    }

    /// Returns the next batch after cycle `now`, of at most `most` cycles, with the state at its start.
    pub(crate) fn batch(
        &self,
        shared: &Shared,
        clock: &Clock,
        now: u64,
        most: u64,
        through_fifos: bool,
    ) -> Option<(State, Batch)> {
        let view = View { index: self.index, config: &self.config, divider: &self.divider, shared, clock };
        let mut state = self.state;
        // Quiet instructions do not change the FIFOs.
        state.run_quiet(&view, &mut self.fifos.clone(), now, 2 * LOOKAHEAD);
        let start = state.next();
        if start <= now {
            return None;
        }
        let pass = Pass::next(&state, &shared.memory, &self.config, &self.divider)?;
        let (count, rest) = pass.most(&state, &self.config, &self.fifos, through_fifos);
        let machine = self.index as usize;
        let deferred = Deferred::default();
        let mut batch = Batch { machine, pass, start, count, rest, limit: u64::MAX, through_fifos, deferred };
        batch.limit(most / pass.cycles);
        (batch.count > 1).then_some((state, batch))
    }

    /// Returns whether others may use the FIFOs while a batch is deferred: none of its passes waits for a word.
    pub(crate) fn has_words(&self) -> bool {
        !self.state.wants_refill(&self.config)
    }

    /// Fits `batch` to the words in the FIFOs.
    pub(crate) fn fit(&self, batch: &mut Batch) {
        let limit = batch.limit;
        (batch.count, batch.rest) = batch.pass.most(&self.state, &self.config, &self.fifos, batch.through_fifos);
        batch.limit(limit);
    }

    /// Returns the next words that `batch` moves, from the TX FIFO and to the RX FIFO.
    pub(crate) fn words(&self, batch: &Batch) -> [Option<Word>; 2] {
        batch.words(&self.state, &self.config)
    }

    /// Takes a word from the TX FIFO or, `to_rx`, pushes one into the RX FIFO.
    pub(crate) fn move_word(&mut self, to_rx: bool) {
        if to_rx {
            self.state.push_isr(&mut self.fifos, &mut Effects::default());
        } else {
            self.state.refill(&mut self.fifos);
        }
    }

    /// Returns the next `count` bits that OUT outputs in `pass`.
    pub(crate) fn bits_out(&self, pass: &Pass, count: u64) -> u32 {
        pass.bits_out(&self.state, &self.config, count as u32)
    }

    /// Runs `count` passes.
    pub(crate) fn advance(&mut self, pass: &Pass, count: u64, inputs: Sampled) {
        pass.advance(&mut self.state, &self.config, &self.divider, count, inputs);
    }

    /// Returns whether nothing is due in any cycle, and no pins are held.
    pub(crate) fn rests(&self) -> bool {
        let idle = self.ahead.is_none() && self.state.next() == NEVER && self.refill == NEVER;
        idle && self.sticky.iter().all(Option::is_none)
    }

    /// Executes cycle `now`.
    pub(crate) fn step(&mut self, shared: &Shared, clock: &Clock, now: u64) -> Effects {
        let mut effects = Effects::default();
        if let Some(ahead) = self.ahead
            && ahead.next() <= now
        {
            self.state = ahead;
            self.ahead = None;
        }
        if self.ahead.is_some_and(|ahead| ahead.relied_out | ahead.relied_oe != 0) {
            // A side-set in this cycle, even one without change, may compete with other writes.
            self.sync(shared, clock, now - 1);
        }
        if self.state.next() == now || (self.ahead.is_none() && self.state.next() < now) {
            let (view, fifos, state) = self.view(shared, clock);
            state.execute(&view, fifos, &mut effects);
        }
        if self.refill <= now {
            self.disturb(shared, clock, now);
            if self.state.wants_refill(&self.config) && !self.fifos.tx.is_empty() {
                self.state.refill(&mut self.fifos);
                effects.fifo = true;
            }
            self.refill = NEVER;
        }
        effects.fdebug |= self.take_lost();
        for (sticky, written) in self.sticky.iter_mut().zip(effects.written) {
            if let Some(write) = written {
                *sticky = (self.config.out_sticky() && write.mask != 0).then_some(write);
            }
        }
        effects
    }

    /// Returns the flag in FDEBUG of words that were lost since the last call.
    pub(crate) fn take_lost(&mut self) -> u32 {
        if std::mem::take(&mut self.state.lost) { FDEBUG_RXSTALL } else { 0 }
    }

    /// Finds the tick in which autopull takes a word, after a change in cycle `now` of the TX FIFO or of what reads it.
    pub(crate) fn plan_refill(&mut self, now: u64) {
        self.refill = NEVER;
        if self.state.enabled && self.state.wants_refill(&self.config) && !self.fifos.tx.is_empty() {
            let tick = self.divider.cycle(self.divider.first_at(now + 1));
            // An instruction that executes in that tick refills OSR itself.
            if self.state.forced.is_some() || self.state.flow.next > tick {
                self.refill = tick;
            }
        }
    }

    pub(crate) fn wake(&mut self, stall: Option<Stall>, cycle: u64) {
        self.state.wake(stall, &self.divider, cycle);
    }

    /// Handles a write of `instruction` to SMx_INSTR in cycle `now`.
    pub(crate) fn force(&mut self, instruction: u16, now: u64) {
        self.state.force(instruction, now);
        self.plan_refill(now);
    }

    pub(crate) fn set_enabled(&mut self, enabled: bool, now: u64) {
        if enabled {
            self.state.thaw(&self.divider, now);
        } else {
            self.state.freeze(&self.divider, now);
        }
        self.plan_refill(now);
    }

    pub(crate) fn restart(&mut self, now: u64) {
        self.state.restart(&self.divider, now);
        self.sticky = [None; 2];
        self.plan_refill(now);
    }

    /// Changes the divider, while the program keeps its distance in ticks to the next instruction.
    fn retime(&mut self, now: u64, change: impl FnOnce(&mut Divider)) {
        let (enabled, stall) = (self.state.enabled, self.state.flow.stall);
        self.state.freeze(&self.divider, now);
        change(&mut self.divider);
        if enabled {
            self.state.thaw(&self.divider, now);
        }
        if stall.is_some() {
            self.state.flow.stall = stall;
            self.state.flow.next = NEVER;
        }
        self.plan_refill(now);
    }

    pub(crate) fn restart_divider(&mut self, now: u64) {
        self.retime(now, |divider| divider.restart(now));
    }

    pub(crate) fn set_clkdiv(&mut self, now: u64, clkdiv: u32) {
        self.config.clkdiv = clkdiv;
        self.retime(now, |divider| divider.set(now, clkdiv));
    }

    pub(crate) fn set_execctrl(&mut self, now: u64, execctrl: u32) {
        self.config.execctrl = execctrl & self.config.execctrl_mask();
        if !self.config.out_sticky() {
            self.sticky = [None; 2];
        }
        self.wake(None, now + 1);
    }

    pub(crate) fn set_shiftctrl(&mut self, now: u64, shiftctrl: u32) {
        if (self.config.shiftctrl ^ shiftctrl) & (FJOIN_TX | FJOIN_RX) != 0 {
            self.fifos = Fifos::joined(shiftctrl & FJOIN_TX != 0, shiftctrl & FJOIN_RX != 0);
        }
        self.config.shiftctrl = shiftctrl & SHIFTCTRL_MASK;
        self.wake(None, now + 1);
        self.plan_refill(now);
    }

    pub(crate) fn set_pinctrl(&mut self, now: u64, pinctrl: u32) {
        self.config.pinctrl = pinctrl;
        self.wake(None, now + 1);
    }

    /// Returns whether the state machine has stalled on `stall` in a tick since FDEBUG was last cleared, and still does
    /// in cycle `now`.
    pub(crate) fn stalls_again(&self, stall: Stall, now: u64) -> bool {
        let holds = match stall {
            Stall::Tx => self.fifos.tx.is_empty(),
            _ => self.fifos.rx.is_full(),
        };
        if self.state.stall() != Some(stall) || !holds {
            return false;
        }
        let cycle = self.fdebug_cleared + 1;
        // A forced instruction does not wait for the divider.
        let retried =
            if self.state.forced.is_some() { cycle } else { self.divider.cycle(self.divider.first_at(cycle)) };
        retried <= now
    }
}
