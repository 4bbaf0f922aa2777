//! Batches of passes through a PIO loop, deferred until they become observable or the loop ends, and then run at once.
//!
//! A state machine that shifts bits between its registers and pins ([`crate::peripherals::pio`] finds such loops) costs
//! two events per bit. If at most one device ([`BitPeer`]) observes these pins, the passes are deferred as a batch.
//! Before an access or event that may observe or disturb them, the passes that are over by then are run. The last
//! instructions, within a pass, are executed one by one as usual. The result is the same in every cycle in which it is
//! observable.
//!
//! A batch goes on through the words that its passes move between FIFOs and shift registers. Registers and DMA see each of
//! them from its cycle on: before an access or event that may, the passes up to the last word are run
//! ([`Bus::move_words`]), and the batch continues.

use crate::bus::{Blocks, Bus};
use crate::map::{self, Use};
use crate::peripherals::pio::{Batch, Pio, Sampled, inputs};
use crate::sys::{Sys, watcher};
use crate::trace::kind;
use crate::wires::event;
use crate::wires::{PIN_MASK, function};
use crate::world::{BitPeer, Way, World};
use parts::wires::Event;
use serde::{Deserialize, Serialize};
use sim::Ps;

const FUNCTIONS: [usize; 2] = [function::PIO0, function::PIO1];
const EVENTS: [Event; 2] = [event::PIO0, event::PIO1];
const ADDRESSES: [u32; 2] = [map::PIO0, map::PIO1];
/// Bits transferred to or from a peer at once.
const WORD_BITS: u64 = 32;

/// Returns whether `id` neither reads nor changes pins.
fn leaves_pins_alone(id: Event) -> bool {
    // SSI and XIP_STREAM belong to the flash.
    Blocks::pins_of(id)
        .map_or(matches!(id, event::SSI | event::XIP_STREAM), |pins| matches!(pins, Use::None | Use::Written))
}

/// Returns the last cycle that starts at `now` or before.
fn cycle_by(sys: &Sys, now: Ps) -> u64 {
    let cycle = sys.clock.cycle_at(now);
    cycle - u64::from(sys.clock.ps_at(cycle) > now)
}

/// The effects of a deferred batch on the pins.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Deferred {
    block: usize,
    /// Pins that follow the state machine's writes.
    driven: u32,
    peer: Option<Exchange>,
    inputs: Source,
}

/// The exchange with the peer in each pass.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Exchange {
    data: u32,
    way: Way,
    /// The step whose edge transfers a bit.
    step: usize,
}

/// The levels that IN reads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Source {
    /// The same levels in each pass.
    Steady,
    /// The peer's bit of this pass.
    Bit,
    /// The peer's bit of the previous pass.
    LastBit,
}

impl<W: World> Bus<W> {
    /// Runs the passes that are over in this cycle, before something may observe or disturb the batch.
    #[inline]
    pub fn run_batch(&mut self) {
        if self.sys.batched.is_some() {
            let until = cycle_by(&self.sys, self.sys.now());
            self.catch_up(until);
        }
    }

    /// Runs the passes before a read of the register at `address`, if it observes their effects. For registers of
    /// IO_BANK0 and SIO's inputs the pins are refreshed separately.
    #[inline]
    pub(crate) fn run_batch_before_read(&mut self, address: u32) {
        let Some(index) = self.sys.batched else { return };
        if Blocks::pins_at(address) == Use::Pio {
            if !Pio::is_read_by_batch(address & 0xffc) || self.is_fifo_of_batch(index, address) {
                self.move_words(cycle_by(&self.sys, self.sys.now()));
            } else {
                self.run_batch();
            }
        }
    }

    /// Runs the passes before a write to the register at `address`, if it may disturb them.
    #[inline]
    pub(crate) fn run_batch_before_write(&mut self, address: u32) {
        let Some(index) = self.sys.batched else { return };
        if Blocks::pins_at(address) == Use::None || self.is_fifo_of_batch(index, address) {
            // DMA and the FIFOs see which words have moved.
            self.move_words(cycle_by(&self.sys, self.sys.now()));
        } else {
            self.run_batch();
        }
    }

    fn is_fifo_of_batch(&self, index: usize, address: u32) -> bool {
        address & 0xffff_c000 == ADDRESSES[index] && self.blocks.pio[index].is_fifo_of_batch(&self.sys, address & 0xffc)
    }

    /// Runs the passes at the end of a run at `now`; until the next run everything is in its observable state.
    pub(crate) fn end_batch(&mut self, now: Ps) {
        if self.sys.batched.is_some() {
            self.catch_up(cycle_by(&self.sys, now));
        }
    }

    /// Runs the passes before event `id`. Returns false if the event was the end of the batch and needs no handling
    /// now.
    pub(crate) fn batch_before(&mut self, id: Event) -> bool {
        let Some(index) = self.sys.batched else { return true };
        let own = EVENTS[index];
        let now = self.sys.now();
        let cycle = self.sys.clock.cycle_at(now);
        if id == own && self.blocks.pio[index].defers(cycle) {
            self.move_words(cycle);
            self.blocks.pio[index].plan_batch(&mut self.sys);
            return false;
        }
        if id == event::DMA {
            self.move_words(cycle_by(&self.sys, now));
        }
        if leaves_pins_alone(id) {
            return true;
        }
        // Events at the same time are handled in order of their ids.
        let until = if id > own { cycle_by(&self.sys, now) } else { cycle - 1 };
        self.catch_up(until);
        if id != own {
            return true;
        }
        let is_due = self.sys.due(id) <= now;
        if is_due {
            self.sys.cancel(id);
        }
        is_due
    }

    /// Runs the deferred passes up to and including cycle `until`, and ends the batch.
    #[inline(never)]
    fn catch_up(&mut self, until: u64) {
        let Some(index) = self.sys.batched else { return };
        let time = self.sys.set_event_time(Some(self.sys.clock.ps_at(until)));
        self.carry_out_until(index, until);
        self.sys.batched = None;
        self.deferred = None;
        self.blocks.pio[index].take_batch();
        while self.blocks.pio[index].step_once(&mut self.sys, until).is_some() {
            self.settle_pins();
        }
        self.sys.set_event_time(time);
        self.blocks.pio[index].replan(&mut self.sys, until);
    }

    /// Moves the words between FIFOs and shift registers that are due up to and including cycle `until`, with the passes
    /// before them. The batch goes on, unless one of these passes does.
    fn move_words(&mut self, until: u64) {
        let Some(index) = self.sys.batched else { return };
        while let Some(word) = self.blocks.pio[index].words().into_iter().flatten().min_by_key(|word| word.cycle)
            && word.cycle <= until
        {
            if word.complete > until {
                self.catch_up(until);
                return;
            }
            let time = self.sys.set_event_time(Some(self.sys.clock.ps_at(word.complete)));
            self.carry_out_until(index, word.complete);
            self.sys.set_event_time(time);
        }
    }

    /// Carries out the deferred passes that are complete in cycle `until`, and moves each of their words in its cycle.
    fn carry_out_until(&mut self, index: usize, until: u64) {
        while let (Some(batch), Some(deferred)) = (self.blocks.pio[index].batch(), self.deferred) {
            let together = if deferred.peer.is_some() { WORD_BITS } else { u64::MAX };
            let words = self.blocks.pio[index].words();
            let most = batch.done_by(until).min(together);
            let done = words.iter().flatten().fold(most, |done, word| done.min(word.passes));
            if done == 0 {
                return;
            }
            self.carry_out(&batch, &deferred, done);
            let mut words = [(words[0], false), (words[1], true)];
            words.sort_by_key(|(word, _)| word.map(|word| word.cycle));
            for (word, to_rx) in words {
                let Some(word) = word.filter(|word| word.passes == done) else { continue };
                let time = self.sys.set_event_time(Some(self.sys.clock.ps_at(word.cycle)));
                self.blocks.pio[index].move_word(&mut self.sys, to_rx);
                self.settle_requests();
                self.sys.set_event_time(time);
            }
        }
    }

    fn carry_out(&mut self, batch: &Batch, deferred: &Deferred, done: u64) {
        let Self { sys, blocks, world, .. } = self;
        let index = deferred.block;
        let pass = &batch.pass;
        let [mut out, _] = blocks.pio[index].outputs();
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
            bits = blocks.pio[index].bits_out(batch, done);
            out = (out & !(1 << pin)) | (bits & 1) << pin;
            changing = deferred.driven & (1 << pin);
        }
        let mut given = 0;
        if let Some(exchange) = deferred.peer {
            match exchange.way {
                Way::Takes => {
                    let held = if before & (1 << exchange.data) != 0 { u32::MAX } else { 0 };
                    let taken = match pass.output {
                        Some((_, pin)) if changing == 0 || pin != exchange.data => held & word_mask(done),
                        Some((step, _)) if step <= exchange.step => bits,
                        Some(_) => after(held & 1, bits, done),
                        None => held & word_mask(done),
                    };
                    world.take_bits(sys, taken, done as u32);
                }
                Way::Gives { .. } => {
                    given = world.give_bits(sys, done as u32);
                    changing = 1 << exchange.data;
                    bits = given;
                }
            }
        }
        if changing != 0 {
            let previous = after(u32::from(before & changing != 0), bits, done);
            rose |= if bits & !previous != 0 { changing } else { 0 };
            fell |= if previous & !bits & word_mask(done) != 0 { changing } else { 0 };
        }
        let inputs = match (pass.input, deferred.inputs) {
            (None, _) => Sampled::Same(0),
            (Some((step, _)), source) => {
                let (first, _) = blocks.pio[index].sample(sys, batch.machine, batch.start + pass.steps()[step].at);
                let bit_of = |levels: u32| {
                    deferred.peer.map_or(0, |peer| (sys.pins.input_of(levels.into()) >> peer.data) as u32 & 1)
                };
                let seen = |bits: u32| match (bit_of(0), bit_of(PIN_MASK)) {
                    (0, 1) => bits,
                    (1, 0) => !bits & word_mask(done),
                    (0, _) => 0,
                    _ => word_mask(done),
                };
                match source {
                    Source::Steady => Sampled::Same(first),
                    Source::Bit => Sampled::Bits(seen(given)),
                    Source::LastBit => {
                        let later = seen(given >> 1) & word_mask(done - 1);
                        Sampled::Bits((first & 1) << (done - 1) | later)
                    }
                }
            }
        };
        blocks.pio[index].advance(sys, done, inputs, out);
        if let Some(Exchange { data, way: Way::Gives { .. }, .. }) = deferred.peer {
            sys.pins.drive(data, Some(given & 1 != 0));
        }
        sys.pins.world_dirty = false;
        sys.pins.input_dirty = false;
        blocks.io_bank0.edges_passed(sys, rose.into(), fell.into());
        self.note_last_passes(batch, deferred, done, (before, bits, changing));
    }

    /// Tells the inputs of PIO about the edges that their flip-flops may still hold.
    fn note_last_passes(&mut self, batch: &Batch, deferred: &Deferred, done: u64, changing: (u32, u32, u32)) {
        let Self { sys, blocks, .. } = self;
        let pass = &batch.pass;
        let (before, bits, changing) = changing;
        let bit = |number: Option<u64>| match number {
            Some(number) => {
                if bits >> (done - 1 - number) & 1 != 0 {
                    changing
                } else {
                    0
                }
            }
            None => before & changing,
        };
        let changes_at = match (deferred.peer, pass.output) {
            (Some(Exchange { way: Way::Gives { .. }, step, .. }), _) | (_, Some((step, _))) => step,
            _ => usize::MAX,
        };
        let [out, _] = blocks.pio[deferred.block].outputs();
        let first = done.saturating_sub(1 + inputs::longest_delay(&sys.clock).div_ceil(pass.cycles));
        let fixed = deferred.driven & !changing;
        let others = sys.pins.level() as u32 & !(fixed | changing);
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
                let next = others | levels[index] | if changing == 0 { 0 } else { bit(newest) };
                if level.replace(next) != Some(next) {
                    let at = sys.clock.ps_at(batch.start + number * pass.cycles + step.at);
                    let inputs = sys.pins.input_of(next.into()) as u32;
                    blocks.pio.iter_mut().for_each(|pio| pio.note_inputs(at, inputs));
                }
            }
        }
    }

    /// Defers the next passes of a state machine, if they are unobservable.
    #[inline(never)]
    pub(crate) fn find_batch(&mut self) {
        self.sys.batch_possible = false;
        let traced = self.sys.trace.wants(kind::PINS) || self.sys.records();
        if self.sys.batched.is_some() || !self.sys.batches_enabled || traced {
            return;
        }
        // Most often the next pass is its last: not worth the search.
        if self.world.bit_peer().is_some_and(|peer| peer.bits < 2) {
            return;
        }
        for block in 0..FUNCTIONS.len() {
            let Some((state, mut batch)) = self.blocks.pio[block].find_batch(&self.sys) else { continue };
            let Some(deferred) = self.unseen(block, &mut batch) else { continue };
            self.deferred = Some(deferred);
            self.blocks.pio[block].defer(&mut self.sys, state, batch);
            return;
        }
    }

    /// Returns the effects of `batch` at the pins, and limits it to unobservable passes; `None` if there are none.
    fn unseen(&self, block: usize, batch: &mut Batch) -> Option<Deferred> {
        let (sys, pass) = (&self.sys, &batch.pass);
        let pins = &sys.pins;
        let pio = &self.blocks.pio[block];
        let [out, oe] = pio.outputs();
        let mut previous = out;
        let mut written = 0;
        for level in pass.levels(out)? {
            written |= level ^ previous;
            previous = level;
        }
        let out_pin = pass.output.map_or(0, |(_, pin)| 1 << pin);
        // A loop that changes no pins needs no batch: lookahead already covers it.
        if written | out_pin == 0 {
            return None;
        }
        let selected = (written | out_pin) & pins.function_mask[FUNCTIONS[block]] as u32;
        let driven = selected & oe;
        let mut touched = driven;
        let mut peer = None;
        let followed = driven & sys.watched_by(watcher::WORLD) as u32;
        if followed != 0 {
            let BitPeer { clock, data, way, bits } = self.world.bit_peer()?;
            let (clock_bit, data_bit) = (1u32 << clock, 1u32 << data);
            if followed & !(clock_bit | data_bit) != 0 || out_pin == clock_bit {
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
                let step = match way {
                    // Its data may change once per pass, by OUT.
                    Way::Takes if written & data_bit != 0 => return None,
                    Way::Takes => edges[1],
                    // The only pin whose levels the program does not determine.
                    Way::Gives { .. } if pins.output_enabled() as u32 & data_bit != 0 || driven & out_pin != 0 => {
                        return None;
                    }
                    Way::Gives { rising } => edges[usize::from(rising)],
                };
                batch.limit(u64::from(bits));
                touched |= data_bit;
                peer = Some(Exchange { data, way, step });
            }
        }
        let overridden = pins.overridden() as u32;
        if batch.count < 2
            || selected & overridden != 0
            || touched & (overridden | (pins.wired() | sys.watched_by(watcher::GPIO)) as u32) != 0
        {
            return None;
        }
        let other = &self.blocks.pio[1 - block];
        if other.looks() & touched != 0 || other.is_forced() {
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
        let pio = &self.blocks.pio[deferred.block];
        let read = pio.read_by_in(batch.machine, bits);
        let at = batch.pass.steps()[step].at;
        let given = match deferred.peer {
            Some(Exchange { data, way: Way::Gives { .. }, step }) => Some((data, step)),
            _ => None,
        };
        if let Some((data, edge)) = given
            && read & (1 << data) != 0
        {
            if read != 1 << data {
                return None;
            }
            // Changes up to this cycle of the pass are visible.
            let seen = at.checked_sub(pio.input_delay(&self.sys, data));
            let edge = batch.pass.steps()[edge].at;
            return match seen {
                Some(seen) if seen >= edge => Some(Source::Bit),
                _ if at + batch.pass.cycles >= edge + pio.input_delay(&self.sys, data) => Some(Source::LastBit),
                _ => None,
            };
        }
        let steady = pio.sample(&self.sys, batch.machine, batch.start + at).1;
        (read & deferred.driven == 0 && steady).then_some(Source::Steady)
    }
}

/// Returns a mask of `count` bits, at most 32.
fn word_mask(count: u64) -> u32 {
    if count >= WORD_BITS { u32::MAX } else { (1 << count) - 1 }
}

/// Returns `bits` delayed by one pass, with `first` before them.
fn after(first: u32, bits: u32, count: u64) -> u32 {
    first << (count - 1) | bits >> 1
}

#[cfg(test)]
mod tests;
