//! Batches of passes through a PIO loop, deferred until they become observable or the loop ends, and then run at once.
//!
//! A state machine that shifts bits between its registers and pins ([`crate::pio`] finds such loops) costs two events per
//! bit. If at most one device ([`BitPeer`]) observes these pins, the passes are deferred as a batch. Before an access or
//! event that may observe or disturb them, the passes that are over by then are run. The last instructions, within a
//! pass, are executed one by one as usual. The result is the same in every cycle in which it is observable.
//!
//! A batch goes on through the words that its passes move between FIFOs and shift registers. Registers and DMA see each of
//! them from its cycle on: before an access or event that may, the passes up to the last word are run, and the batch
//! continues.

use crate::io_bank0::IoBank0;
use crate::pio::{Batch, Deferred, Exchange, Pio, Sampled, Source, inputs};
use chip::sys::watcher;
use chip::trace::kind;
use chip::{BitPeer, Event, Sys, Way, World};
use sim::Ps;

/// Bits transferred to or from a peer at once.
const WORD_BITS: u64 = 32;

/// What a register block has to do with the pins of a deferred batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A write or its event may read or change pins.
    Any,
    /// A write may; its event does not.
    Written,
    /// Neither may.
    None,
    /// It is PIO, whose registers show a batch.
    Pio,
}

/// Returns the last cycle that starts at `now` or before.
fn cycle_by(sys: &Sys, now: Ps) -> u64 {
    let cycle = sys.clock.cycle_at(now);
    cycle - u64::from(sys.clock.ps_at(cycle) > now)
}

/// The parts of a chip that a batch involves.
#[expect(missing_docs, reason = "named as in the datasheet")]
pub struct Involved<'a> {
    pub sys: &'a mut Sys,
    pub pio: &'a mut [Pio],
    pub io_bank0: &'a mut IoBank0,
    /// Everything outside the chip.
    pub world: &'a mut (dyn World + 'static),
}

/// A chip whose PIO runs in batches.
pub trait Batches {
    /// The event of the DMA.
    const DMA: Event;
    /// Address of PIO0; each further block is 1 MiB after the one before it.
    const PIO0: u32;

    /// Returns what the block at `address` has to do with pins.
    fn pins_at(address: u32) -> Use;
    /// Returns what the event `id` has to do with pins.
    fn pins_of(id: Event) -> Use;
    /// Returns the parts of the chip.
    fn involved(&mut self) -> Involved<'_>;
    /// Tells the other parts and the world about changed pins, and DMA about requests.
    fn settle_pins(&mut self);
    /// Tells DMA about requests.
    fn settle_requests(&mut self);

    /// Returns the block with the deferred batch.
    #[inline]
    fn batched(&mut self) -> Option<usize> {
        self.involved().sys.batched
    }

    /// Runs the passes that are over in this cycle, before something may observe or disturb the batch.
    #[inline]
    fn run_batch(&mut self) {
        if let Some(index) = self.batched() {
            let Involved { sys, pio, .. } = self.involved();
            let until = cycle_by(sys, sys.now());
            // The action after those that are unseen is an event, which comes in its order.
            let last = pio[index].unseen_before().map_or(until, |due| due - 1);
            self.catch_up(until.min(last));
        }
    }

    /// Runs the passes before a read of the register at `address`, if it observes their effects. For registers of
    /// IO_BANK0 and SIO's inputs the pins are refreshed separately.
    #[inline]
    fn run_batch_before_read(&mut self, address: u32) {
        let Some(index) = self.batched() else { return };
        if Self::pins_at(address) == Use::Pio {
            let pio = &self.involved().pio[index];
            let is_own = (address - Self::PIO0) >> 20 == index as u32;
            let is_unseen = pio.unseen_before().is_some();
            if is_unseen && is_own && pio.polled(address & 0xffc).is_some() {
                // Until the block's event no word moves.
            } else if !is_unseen && (!Pio::is_read_by_batch(address & 0xffc) || self.is_fifo_of_batch(index, address)) {
                self.move_words_by_now();
            } else {
                self.run_batch();
            }
        }
    }

    /// Runs the passes before a write to the register at `address`, if it may disturb them.
    #[inline]
    fn run_batch_before_write(&mut self, address: u32) {
        let Some(index) = self.batched() else { return };
        if Self::pins_at(address) == Use::None || self.is_fifo_of_batch(index, address) {
            // DMA and the FIFOs see which words have moved.
            self.move_words_by_now();
        } else {
            self.run_batch();
        }
    }

    /// Returns whether `address` is that of a FIFO of the batch in block `index`.
    fn is_fifo_of_batch(&mut self, index: usize, address: u32) -> bool {
        let Involved { sys, pio, .. } = self.involved();
        Self::pins_at(address) == Use::Pio
            && (address - Self::PIO0) >> 20 == index as u32
            && pio[index].is_fifo_of_batch(sys, address & 0xffc)
    }

    /// Runs the passes at the end of a run at `now`; until the next run everything is in its observable state.
    fn end_batch(&mut self, now: Ps) {
        if self.batched().is_some() {
            let until = cycle_by(self.involved().sys, now);
            self.catch_up(until);
        }
    }

    /// Plans a batch again whose words DMA may wait for.
    fn replan_batch(&mut self) {
        if let Some(index) = self.batched() {
            let Involved { sys, pio, .. } = self.involved();
            pio[index].plan_batch(sys);
        }
    }

    /// Runs the passes before event `id`. Returns false if the event was the end of the batch and needs no handling
    /// now.
    #[inline]
    fn batch_before(&mut self, id: Event) -> bool {
        self.batched().is_none_or(|index| self.run_before(index, id))
    }

    /// Does so for the batch of block `index`.
    fn run_before(&mut self, index: usize, id: Event) -> bool {
        let Involved { sys, pio, .. } = self.involved();
        let own = pio[index].event_id();
        let now = sys.now();
        let cycle = sys.clock.cycle_at(now);
        if id == own && pio[index].defers(cycle) {
            self.move_words(cycle);
            self.replan_batch();
            return false;
        }
        if id == Self::DMA {
            self.move_words_by_now();
            // As single events they come while this one is due, and it serves their requests.
            self.involved().sys.cancel(id);
        }
        if matches!(Self::pins_of(id), Use::None | Use::Written) {
            return true;
        }
        // Events at the same time are handled in order of their ids.
        let until = if id > own { cycle_by(self.involved().sys, now) } else { cycle - 1 };
        self.catch_up(until);
        if id != own {
            return true;
        }
        let sys = self.involved().sys;
        let is_due = sys.due(id) <= now;
        if is_due {
            sys.cancel(id);
        }
        is_due
    }

    /// Runs the deferred passes up to and including cycle `until`, and ends the batch.
    #[inline(never)]
    fn catch_up(&mut self, until: u64) {
        let Some(index) = self.batched() else { return };
        let sys = self.involved().sys;
        let time = sys.set_event_time(Some(sys.clock.ps_at(until)));
        self.carry_out_until(index, until);
        self.involved().carry_out_unseen(index, until);
        let Involved { sys, pio, .. } = self.involved();
        sys.batched = None;
        pio[index].take_batch();
        loop {
            let Involved { sys, pio, .. } = self.involved();
            if pio[index].step_once(sys, until).is_none() {
                break;
            }
            self.settle_pins();
        }
        let Involved { sys, pio, .. } = self.involved();
        sys.set_event_time(time);
        pio[index].replan(sys, until);
    }

    /// Moves the words that are due by now.
    fn move_words_by_now(&mut self) {
        let sys = self.involved().sys;
        let until = cycle_by(sys, sys.now());
        self.move_words(until);
    }

    /// Moves the words between FIFOs and shift registers that are due up to and including cycle `until`, with the passes
    /// before them. The batch goes on, unless one of these passes does.
    fn move_words(&mut self, until: u64) {
        let Some(index) = self.batched() else { return };
        loop {
            let Involved { sys, pio, .. } = self.involved();
            let next = pio[index].words().into_iter().flatten().min_by_key(|word| word.cycle);
            let Some(word) = next.filter(|word| word.cycle <= until) else { return };
            if word.complete > until {
                self.catch_up(until);
                return;
            }
            let time = sys.set_event_time(Some(sys.clock.ps_at(word.complete)));
            self.carry_out_until(index, word.complete);
            self.involved().sys.set_event_time(time);
        }
    }

    /// Carries out the deferred passes that are complete in cycle `until`, and moves each of their words in its cycle.
    fn carry_out_until(&mut self, index: usize, until: u64) {
        loop {
            let pio = self.involved().pio;
            let Some(batch) = pio[index].batch() else { return };
            let together = batch.deferred.peer.map_or(u64::MAX, |peer| WORD_BITS / u64::from(peer.lanes));
            let words = pio[index].words();
            let most = batch.done_by(until).min(together);
            let done = words.iter().flatten().fold(most, |done, word| done.min(word.passes));
            if done == 0 {
                return;
            }
            self.involved().carry_out(&batch, done);
            for (word, to_rx) in [(words[0], false), (words[1], true)] {
                let Some(word) = word.filter(|word| word.passes == done) else { continue };
                let Involved { sys, pio, .. } = self.involved();
                let time = sys.set_event_time(Some(sys.clock.ps_at(word.cycle)));
                pio[index].move_word(sys, to_rx);
                self.settle_requests();
                self.involved().sys.set_event_time(time);
            }
        }
    }

    /// Defers the next passes of a state machine, if they are unobservable.
    #[inline(never)]
    fn find_batch(&mut self) {
        self.involved().find_batch();
    }
}

impl Involved<'_> {
    fn carry_out(&mut self, batch: &Batch, done: u64) {
        let Self { sys, pio, io_bank0, world } = self;
        let (pass, deferred) = (&batch.pass, &batch.deferred);
        let index = deferred.block;
        let [mut out, _] = pio[index].outputs();
        let before = sys.pins.level() as u32;
        let (mut rose, mut fell) = (0, 0);
        let mut level = before;
        for now in pass.levels(out).into_iter().flatten() {
            let next = (level & !deferred.driven) | (now & deferred.driven);
            rose |= next & !level;
            fell |= level & !next;
            level = next;
        }
        // The pins that differ between passes: OUT's, and the peer's.
        let mut changing = 0;
        let mut bits = 0;
        if let Some((_, pin)) = pass.output {
            let pins = pass.out_pins();
            bits = pio[index].bits_out(batch, done);
            out = (out & !pins) | (bits << pin) & pins;
            changing = deferred.driven & pins;
        }
        let mut given = 0;
        // All that the peer exchanges.
        let all = word_mask(done * deferred.peer.map_or(1, |peer| u64::from(peer.lanes)));
        if let Some(exchange) = deferred.peer {
            let (lanes, pins) = (exchange.lanes, exchange.pins());
            match exchange.way {
                Way::Takes => {
                    let held = (before & pins) >> exchange.data;
                    let taken = match pass.output {
                        Some((step, _)) if changing == pins && step <= exchange.step => bits,
                        Some(_) if changing == pins => after(held, bits, done, lanes),
                        _ => repeated(held, lanes) & all,
                    };
                    world.take_bits(sys, taken, done as u32 * lanes);
                }
                Way::Gives { .. } => {
                    given = world.give_bits(sys, done as u32 * lanes);
                    changing = pins;
                    bits = given;
                }
            }
        }
        if changing != 0 {
            let (pin, lanes) = (changing.trailing_zeros(), changing.count_ones());
            let previous = after((before & changing) >> pin, bits, done, lanes);
            rose |= any(bits & !previous, lanes) << pin;
            fell |= any(previous & !bits & word_mask(done * u64::from(lanes)), lanes) << pin;
        }
        let inputs = match (pass.input, deferred.inputs) {
            (None, _) => Sampled::Same(0),
            (Some((step, _)), source) => {
                let (first, _) = pio[index].sample(sys, batch.machine, batch.start + pass.steps()[step].at);
                // What the peer's bits are at the inputs.
                let seen = |peer: Exchange, bits: u32| {
                    let of = |levels: u32| (sys.pins.input_of(levels.into()) as u32 & peer.pins()) >> peer.data;
                    let [low, high] = [0, u32::MAX].map(|levels| repeated(of(levels), peer.lanes));
                    (bits & high | !bits & low) & all
                };
                match (source, deferred.peer) {
                    (Source::Bit, Some(peer)) => Sampled::Bits(seen(peer, given)),
                    (Source::LastBit, Some(peer)) => {
                        let later = seen(peer, given >> peer.lanes) & all >> peer.lanes;
                        Sampled::Bits(after(first & peer.pins() >> peer.data, 0, done, peer.lanes) | later)
                    }
                    _ => Sampled::Same(first),
                }
            }
        };
        pio[index].advance(sys, done, inputs, out);
        if let Some(Exchange { data, lanes, way: Way::Gives { .. }, .. }) = deferred.peer {
            (0..lanes).for_each(|lane| sys.pins.drive(data + lane, Some(given >> lane & 1 != 0)));
        }
        sys.pins.world_dirty = false;
        sys.pins.input_dirty = false;
        io_bank0.edges_passed(sys, rose.into(), fell.into());
        self.note_last_passes(batch, done, (before, bits, changing));
    }

    /// Tells the inputs of PIO about the edges that their flip-flops may still hold.
    fn note_last_passes(&mut self, batch: &Batch, done: u64, changing: (u32, u32, u32)) {
        let Self { sys, pio, .. } = self;
        let (pass, deferred) = (&batch.pass, &batch.deferred);
        let (before, bits, changing) = changing;
        let bit = |number: Option<u64>| match number {
            Some(number) => {
                let later = (done - 1 - number) as u32 * changing.count_ones();
                bits >> later << changing.trailing_zeros() & changing
            }
            None => before & changing,
        };
        let changes_at = match (deferred.peer, pass.output) {
            (Some(Exchange { way: Way::Gives { .. }, step, .. }), _) | (_, Some((step, _))) => step,
            _ => usize::MAX,
        };
        let [out, _] = pio[deferred.block].outputs();
        let first = done.saturating_sub(1 + inputs::longest_delay(&sys.clock).div_ceil(pass.cycles));
        let fixed = deferred.driven & !changing;
        let others = sys.pins.level() & !u64::from(fixed | changing);
        let Some(levels) = pass.levels(out) else { return };
        let levels: [u32; 8] = {
            let mut kept = [0; 8];
            kept.iter_mut().zip(levels).for_each(|(kept, level)| *kept = level & fixed);
            kept
        };
        let mut level = None;
        for number in first..done {
            for (index, step) in pass.steps().iter().enumerate() {
                let newest = if index >= changes_at { Some(number) } else { number.checked_sub(1) };
                let next = others | u64::from(levels[index] | if changing == 0 { 0 } else { bit(newest) });
                if level.replace(next) != Some(next) {
                    let at = sys.clock.ps_at(batch.start + number * pass.cycles + step.at);
                    let inputs = sys.pins.input_of(next);
                    pio.iter_mut().for_each(|pio| pio.note_inputs(at, inputs));
                }
            }
        }
    }

    fn find_batch(&mut self) {
        let Self { sys, pio, world, .. } = self;
        sys.batch_possible = false;
        let traced = sys.trace.wants(kind::PINS) || sys.records();
        if sys.batched.is_some() || !sys.batches_enabled || traced {
            return;
        }
        // Most often the next pass is its last: not worth the search.
        let last = world.bit_peer().is_some_and(|peer| peer.bits < 2 * peer.lanes);
        for block in 0..pio.len() {
            if !last
                && let Some((state, mut batch)) = self.pio[block].find_batch(self.sys)
                && let Some(deferred) = self.unseen(block, &mut batch)
            {
                batch.deferred = deferred;
                self.sys.batched = Some(block);
                self.pio[block].defer(self.sys, state, batch);
                return;
            }
            if self.defer_unseen(block) {
                self.sys.batched = Some(block);
                return;
            }
        }
    }

    /// Defers the next actions of a block if nothing observes them. Returns whether it does.
    fn defer_unseen(&mut self, block: usize) -> bool {
        if self.pio.iter().any(Pio::is_forced) {
            return false;
        }
        let pins = &self.sys.pins;
        let read = self.pio.iter().fold(pins.wired(), |pins, pio| pins | pio.looks());
        let read = read | self.sys.watched_by(watcher::WORLD) | self.sys.watched_by(watcher::GPIO);
        let [_, oe] = self.pio[block].outputs();
        let observed = self.pio[block].selected(pins) & (oe & read as u32 | pins.overridden() as u32);
        self.pio[block].defer_unseen(self.sys, observed)
    }

    /// Runs the deferred actions of a block up to and including cycle `until`, if there are some.
    fn carry_out_unseen(&mut self, block: usize, until: u64) {
        let Self { sys, pio, io_bank0, .. } = self;
        let [_, oe] = pio[block].outputs();
        let driven = u64::from(pio[block].selected(&sys.pins) & oe) & !sys.pins.overridden();
        let others = sys.pins.level() & !driven;
        let Some(changes) = pio[block].run_unseen(sys, until) else { return };
        (sys.pins.world_dirty, sys.pins.input_dirty) = (false, false);
        io_bank0.edges_passed(sys, u64::from(changes.rose) & driven, u64::from(changes.fell) & driven);
        for (cycle, out) in changes.newest() {
            let inputs = sys.pins.input_of(others | u64::from(out) & driven);
            pio.iter_mut().for_each(|pio| pio.note_inputs(sys.clock.ps_at(cycle), inputs));
        }
    }

    /// Returns the effects of `batch` at the pins, and limits it to unobservable passes; `None` if there are none.
    fn unseen(&self, block: usize, batch: &mut Batch) -> Option<Deferred> {
        let (sys, pass) = (&*self.sys, &batch.pass);
        let pins = &sys.pins;
        let pio = &self.pio[block];
        let [out, oe] = pio.outputs();
        let mut previous = out;
        let mut written = 0;
        for level in pass.levels(out)? {
            written |= level ^ previous;
            previous = level;
        }
        let out_pins = pass.out_pins();
        // A loop that changes no pins needs no batch: lookahead already covers it.
        if written | out_pins == 0 {
            return None;
        }
        let selected = (written | out_pins) & pio.selected(pins);
        let driven = selected & oe;
        // The pins of OUT change together.
        if driven & out_pins != 0 && driven & out_pins != out_pins {
            return None;
        }
        let mut touched = driven;
        let mut peer = None;
        let followed = driven & sys.watched_by(watcher::WORLD) as u32;
        if followed != 0 {
            let BitPeer { clock, data, lanes, way, bits } = self.world.bit_peer()?;
            let mut exchange = Exchange { data, lanes, way, step: 0 };
            let (clock_bit, data_bits) = (1u32 << clock, exchange.pins());
            if followed & !(clock_bit | data_bits) != 0 || out_pins & clock_bit != 0 {
                return None;
            }
            if driven & clock_bit != 0 {
                // One period of the clock per pass.
                let (mut edges, mut clocked) = ([0; 2], [0; 2]);
                let mut high = out & clock_bit != 0;
                for (step, level) in pass.levels(out)?.enumerate() {
                    let now = level & clock_bit != 0;
                    if now != high {
                        clocked[usize::from(now)] += 1;
                        edges[usize::from(now)] = step;
                        high = now;
                    }
                }
                if clocked != [1, 1] {
                    return None;
                }
                exchange.step = match way {
                    // Its data may change once per pass, by OUT to all of its pins.
                    Way::Takes if written & data_bits != 0 => return None,
                    Way::Takes if out_pins & data_bits != 0 && out_pins != data_bits => return None,
                    Way::Takes => edges[1],
                    // The only pins whose levels the program does not determine.
                    Way::Gives { .. } if pins.output_enabled() as u32 & data_bits != 0 || driven & out_pins != 0 => {
                        return None;
                    }
                    Way::Gives { rising } => edges[usize::from(rising)],
                };
                batch.limit(u64::from(bits / lanes));
                touched |= data_bits;
                peer = Some(exchange);
            }
        }
        let overridden = pins.overridden() as u32;
        if batch.count < 2
            || selected & overridden != 0
            || touched & (overridden | (pins.wired() | sys.watched_by(watcher::GPIO)) as u32) != 0
        {
            return None;
        }
        let mut others = self.pio.iter().enumerate().filter(|&(other, _)| other != block);
        if others.any(|(_, other)| other.looks() as u32 & touched != 0 || other.is_forced()) {
            return None;
        }
        let mut deferred = Deferred { block, driven, peer, inputs: Source::Steady };
        if let Some((step, bits)) = batch.pass.input {
            deferred.inputs = self.source(&deferred, batch, step, bits)?;
        }
        Some(deferred)
    }

    /// Returns the levels that IN in `step` reads, if they are known for all passes.
    fn source(&self, deferred: &Deferred, batch: &Batch, step: usize, bits: u32) -> Option<Source> {
        let pio = &self.pio[deferred.block];
        let read = pio.read_by_in(batch.machine, bits);
        let at = batch.pass.steps()[step].at;
        let given = match deferred.peer {
            Some(peer @ Exchange { way: Way::Gives { .. }, .. }) => Some(peer),
            _ => None,
        };
        if let Some(peer) = given
            && read & peer.pins() != 0
        {
            let delay = pio.input_delay(self.sys, peer.data);
            if read != peer.pins() || (1..peer.lanes).any(|lane| pio.input_delay(self.sys, peer.data + lane) != delay) {
                return None;
            }
            // Changes up to this cycle of the pass are visible.
            let seen = at.checked_sub(delay);
            let edge = batch.pass.steps()[peer.step].at;
            return match seen {
                Some(seen) if seen >= edge => Some(Source::Bit),
                _ if at + batch.pass.cycles >= edge + delay => Some(Source::LastBit),
                _ => None,
            };
        }
        let steady = pio.sample(self.sys, batch.machine, batch.start + at).1;
        (read & deferred.driven == 0 && steady).then_some(Source::Steady)
    }
}

/// Returns a mask of `count` bits, at most 32.
fn word_mask(count: u64) -> u32 {
    if count >= WORD_BITS { u32::MAX } else { (1 << count) - 1 }
}

/// Returns `bits`, `lanes` a pass, delayed by one pass, with `first` before them.
fn after(first: u32, bits: u32, count: u64, lanes: u32) -> u32 {
    first << ((count as u32 - 1) * lanes) | bits >> lanes
}

/// Returns a pass's bits for all passes that fit into a word.
fn repeated(bits: u32, lanes: u32) -> u32 {
    bits * (u32::MAX / word_mask(lanes.into()))
}

/// Returns the pass's bits that any pass has set.
fn any(bits: u32, lanes: u32) -> u32 {
    let folded = [16, 8, 4, 2, 1].into_iter().filter(|&by| by >= lanes).fold(bits, |bits, by| bits | bits >> by);
    folded & word_mask(lanes.into())
}

#[cfg(feature = "fuzz")]
pub mod fuzz;
