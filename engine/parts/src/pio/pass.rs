//! Passes through a program's loop that only moves bits between shift registers and pins, in a fixed number of cycles.
//! Many passes run at once as a batch; [`crate::batch`] decides when.

use super::config::{Config, PinWrite, bit_count, low_bits};
use super::divider::Divider;
use super::fifo::Fifos;
use super::machine::{INSTRUCTIONS, Slot, State};
use chip::Way;
use sim::Snapshot;

/// Most instructions of a pass.
const LONGEST: usize = 8;
/// Most bits transferred at once.
const WORD_BITS: u32 = 32;

mod op {
    pub(crate) const JMP: u16 = 0;
    pub(crate) const IN: u16 = 2;
    pub(crate) const OUT: u16 = 3;
    pub(crate) const MOV: u16 = 5;
    pub(crate) const SET: u16 = 7;
}
/// MOV X, X and MOV Y, Y.
const NOPS: [u16; 2] = [0x21, 0x42];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Counter {
    X,
    Y,
}

/// An instruction of a pass.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub struct Step {
    /// Cycles from the first instruction of the pass.
    pub at: u64,
    /// SET and side-set.
    pub(crate) write: PinWrite,
}

#[derive(Clone, Copy, Debug, Snapshot)]
pub struct Pass {
    steps: [Step; LONGEST],
    len: usize,
    ticks: u64,
    pub cycles: u64,
    counter: Option<Counter>,
    /// The pass contains JMP !OSRE.
    needs_osr: bool,
    /// The step with OUT PINS, and its first pin.
    pub output: Option<(usize, u32)>,
    /// The number of its pins and bits, 1, 2 or 4.
    pub lanes: u32,
    /// The step with IN PINS, and its number of bits.
    pub input: Option<(usize, u32)>,
}

impl Pass {
    /// Returns the pass that starts with the next instruction of `state`, if there is one.
    pub(crate) fn next(
        state: &State,
        memory: &[u16; INSTRUCTIONS],
        config: &Config,
        divider: &Divider,
    ) -> Option<Self> {
        let slot = &state.flow;
        if !state.enabled || state.forced.is_some() || state.exec.is_some() || slot.tried || slot.stall.is_some() {
            return None;
        }
        let cycles_per_tick = divider.whole()?;
        if !config.writes_plainly() {
            return None;
        }
        let mut pass = Self {
            steps: [Step::default(); LONGEST],
            len: 0,
            ticks: 0,
            cycles: 0,
            counter: None,
            needs_osr: false,
            output: None,
            lanes: 1,
            input: None,
        };
        let mut pc = state.pc;
        loop {
            if pass.len == LONGEST {
                return None;
            }
            let instruction = memory[pc as usize];
            let next = if pc == config.wrap_top() { config.wrap_bottom() } else { (pc + 1) & 31 };
            pc = pass.add(instruction, config, cycles_per_tick)?.unwrap_or(next);
            if pc == state.pc {
                break;
            }
        }
        pass.cycles = pass.ticks * cycles_per_tick;
        (!pass.writes().any(|write| write.mask & pass.out_pins() != 0)).then_some(pass)
    }

    /// Adds an instruction. `Some(Some(_))`: its jump target. `None`: a pass cannot contain it.
    #[allow(clippy::option_option)]
    fn add(&mut self, instruction: u16, config: &Config, cycles_per_tick: u64) -> Option<Option<u32>> {
        let (first, operand) = ((instruction >> 5) & 7, u32::from(instruction & 31));
        let mut write = PinWrite::default();
        let mut jump = None;
        match instruction >> 13 {
            op::JMP => {
                match first {
                    0 => {}
                    2 if self.counter.is_none() => self.counter = Some(Counter::X),
                    4 if self.counter.is_none() => self.counter = Some(Counter::Y),
                    7 => self.needs_osr = true,
                    _ => return None,
                }
                jump = Some(operand);
            }
            op::IN if first == 0 && self.input.is_none() => self.input = Some((self.len, bit_count(operand))),
            op::OUT if first == 0 && matches!(operand, 1 | 2 | 4) && self.output.is_none() => {
                let (pin, pins) = config.out_pins();
                if pins != operand || pin + pins > WORD_BITS {
                    return None;
                }
                (self.output, self.lanes) = (Some((self.len, pin)), pins);
            }
            op::MOV if NOPS.contains(&(instruction & 0xff)) => {}
            op::SET if first == 0 => write = config.set_write(operand),
            _ => return None,
        }
        let side = config.side_write(instruction);
        if side.mask != 0 && config.side_is_pindirs() {
            return None;
        }
        let write = PinWrite { mask: write.mask | side.mask, value: side.apply(write.value) };
        self.steps[self.len] = Step { at: self.ticks * cycles_per_tick, write };
        self.len += 1;
        self.ticks += 1 + config.delay(instruction);
        Some(jump)
    }

    /// Returns the pins of OUT PINS.
    pub fn out_pins(&self) -> u32 {
        self.output.map_or(0, |(_, pin)| low_bits(self.lanes) << pin)
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.len]
    }

    fn writes(&self) -> impl Iterator<Item = PinWrite> {
        self.steps().iter().map(|step| step.write)
    }

    /// Returns the cycles from the first instruction of a pass to its last.
    fn last_at(&self) -> u64 {
        self.steps[self.len - 1].at
    }

    /// Returns the levels after each step, without OUT's, when a pass starts with `out`. `None`: it ends with other
    /// levels, so the next pass differs.
    pub fn levels(&self, out: u32) -> Option<impl Iterator<Item = u32>> {
        let level = |out: &mut u32, write: PinWrite| {
            *out = write.apply(*out);
            Some(*out)
        };
        (self.writes().fold(out, |out, write| write.apply(out)) == out).then(|| self.writes().scan(out, level))
    }

    /// Returns the number of passes that wait for nothing and change nothing but pins, registers and, if
    /// `through_fifos`, the FIFOs; and the cycles after these to the first instruction that may do more.
    pub(crate) fn most(&self, state: &State, config: &Config, fifos: &Fifos, through_fifos: bool) -> (u64, u64) {
        let takes_osr = self.output.is_some() || self.needs_osr;
        if state.wants_refill(config) && (takes_osr || !fifos.tx.is_empty()) {
            return (0, 0);
        }
        // With the step of the next pass that is different.
        let mut most = match self.counter {
            Some(Counter::X) => (u64::from(state.x), 0),
            Some(Counter::Y) => (u64::from(state.y), 0),
            None => (u64::MAX, 0),
        };
        let words = |count: usize| if through_fifos { count as u64 } else { 0 };
        if let Some((step, _)) = self.output {
            let passes = match self.until_refill(state, config) {
                Some(first) => {
                    first + words(fifos.tx.len()) * u64::from(config.pull_threshold().div_ceil(self.lanes)) - 1
                }
                None => {
                    let most = if self.needs_osr { config.pull_threshold() - 1 } else { WORD_BITS };
                    u64::from(most.saturating_sub(state.osr_count) / self.lanes)
                }
            };
            most = most.min((passes, step));
        } else if self.needs_osr && state.osr_count >= config.pull_threshold() {
            return (0, 0);
        }
        if let Some((step, bits)) = self.input {
            let passes = match self.until_push(state, config) {
                Some(first) => first + words(fifos.rx.room()) * u64::from(config.push_threshold().div_ceil(bits)) - 1,
                None => u64::from((WORD_BITS - state.isr_count) / bits),
            };
            most = most.min((passes, step));
        }
        // In the pass that is deferred in part, no word moves.
        let moves = [self.output.filter(|_| config.autopull()), self.input.filter(|_| config.autopush())];
        let step = moves.into_iter().flatten().fold(most.1, |first, (step, _)| first.min(step));
        (most.0, self.steps[step].at)
    }

    /// Returns the number of passes up to that whose OUT takes a word from the FIFO, if there is one.
    fn until_refill(&self, state: &State, config: &Config) -> Option<u64> {
        let pulls = self.output.is_some() && config.autopull();
        pulls.then(|| u64::from(config.pull_threshold().saturating_sub(state.osr_count).div_ceil(self.lanes)).max(1))
    }

    /// Returns the number of passes up to that whose IN pushes a word, if there is room for it.
    fn until_push(&self, state: &State, config: &Config) -> Option<u64> {
        let (_, bits) = self.input.filter(|_| config.autopush())?;
        Some(u64::from(config.push_threshold().saturating_sub(state.isr_count).div_ceil(bits)).max(1))
    }

    /// Returns the bits that OUT outputs in the next `count` passes, the first one's in the most significant place.
    pub(crate) fn bits_out(&self, state: &State, config: &Config, count: u32) -> u32 {
        let osr = if config.out_shifts_right() { reversed(state.osr, self.lanes) } else { state.osr };
        osr.checked_shr(WORD_BITS - count * self.lanes).unwrap_or(0)
    }

    /// Advances `state` by `count` passes in which OUT has output its bits and IN has read `inputs`.
    pub(crate) fn advance(&self, state: &mut State, config: &Config, divider: &Divider, count: u64, inputs: Sampled) {
        match self.counter {
            Some(Counter::X) => state.x -= count as u32,
            Some(Counter::Y) => state.y -= count as u32,
            None => {}
        }
        if self.output.is_some() {
            let count = count as u32 * self.lanes;
            let shifted =
                if config.out_shifts_right() { state.osr.checked_shr(count) } else { state.osr.checked_shl(count) };
            state.osr = shifted.unwrap_or(0);
            state.osr_count += count;
        }
        if let Some((_, bits)) = self.input {
            state.isr_count += bits * count as u32;
            let right = config.in_shifts_right();
            state.isr = match inputs {
                Sampled::Bits(sampled) => {
                    let count = count as u32 * bits;
                    let sampled = if right { reversed(sampled, bits) >> (WORD_BITS - count) } else { sampled };
                    shift_in(state.isr, sampled, count, right)
                }
                Sampled::Same(levels) => {
                    (0..count).fold(state.isr, |isr, _| shift_in(isr, levels & low_bits(bits), bits, right))
                }
            };
        }
        state.tick += count * self.ticks;
        state.flow = Slot { next: divider.cycle(state.tick), stall: None, tried: false };
    }
}

/// Returns `word` with its groups of `lanes` bits in reverse order.
fn reversed(word: u32, lanes: u32) -> u32 {
    let mut word = word.reverse_bits();
    for (group, odd) in [(1, 0xaaaa_aaaa), (2, 0xcccc_cccc)] {
        if group < lanes {
            word = (word & odd) >> group | (word & !odd) << group;
        }
    }
    word
}

/// Returns the ISR after one IN of `count` bits.
fn shift_in(isr: u32, data: u32, count: u32, right: bool) -> u32 {
    if right {
        isr.checked_shr(count).unwrap_or(0) | (data << (WORD_BITS - count))
    } else {
        isr.checked_shl(count).unwrap_or(0) | data
    }
}

/// The levels that IN sampled at its pins.
#[derive(Clone, Copy, Debug)]
pub enum Sampled {
    /// The bits of each pass, the first one's in the most significant place.
    Bits(u32),
    /// The same levels in each pass, in the places of IN_BASE and the pins above it.
    Same(u32),
}

/// The effects of a deferred batch on the pins.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub(crate) struct Deferred {
    pub(crate) block: usize,
    /// Pins that follow the state machine's writes.
    pub(crate) driven: u32,
    pub(crate) peer: Option<Exchange>,
    pub(crate) inputs: Source,
}

/// The exchange with the peer in each pass.
#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Exchange {
    /// The first pin, and the number of pins.
    pub(crate) data: u32,
    pub(crate) lanes: u32,
    pub(crate) way: Way,
    /// The step whose edge transfers bits.
    pub(crate) step: usize,
}

impl Exchange {
    /// Returns the pins as a mask.
    pub(crate) fn pins(&self) -> u32 {
        low_bits(self.lanes) << self.data
    }
}

/// The levels that IN reads.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub(crate) enum Source {
    /// The same levels in each pass.
    #[default]
    Steady,
    /// The peer's bits of this pass.
    Bit,
    /// The peer's bits of the previous pass.
    LastBit,
}

/// A batch of passes that is deferred while it is not observed.
#[derive(Clone, Copy, Debug, Snapshot)]
pub struct Batch {
    /// The state machine.
    pub machine: usize,
    /// What each pass does.
    pub pass: Pass,
    /// Cycle of the first instruction of the first pass.
    pub start: u64,
    /// The number of passes.
    pub count: u64,
    /// Cycles after the last pass that are deferred with it, a part of one more.
    pub(crate) rest: u64,
    /// The most passes that there may be, however many words come.
    pub(crate) limit: u64,
    /// The passes go on through words from and for the FIFOs.
    pub(crate) through_fifos: bool,
    /// What it does to the pins.
    pub(crate) deferred: Deferred,
}

/// A word that moves between a FIFO and a shift register at the end of some passes.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The number of passes, with that of the word.
    pub passes: u64,
    /// The cycle in which it moves.
    pub cycle: u64,
    /// The cycle of the last instruction of that pass.
    pub complete: u64,
}

impl Batch {
    /// Returns the cycle after the last one that is deferred.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.count * self.pass.cycles + self.rest
    }

    /// Ends the batch after at most `count` whole passes.
    pub fn limit(&mut self, count: u64) {
        self.limit = self.limit.min(count);
        if self.count >= count {
            self.count = count;
            self.rest = 0;
        }
    }

    /// Returns the number of passes complete in cycle `now`.
    pub fn done_by(&self, now: u64) -> u64 {
        match now.checked_sub(self.start + self.pass.last_at()) {
            Some(past) => (past / self.pass.cycles + 1).min(self.count),
            None => 0,
        }
    }

    /// Returns the next words that the passes move, from the TX FIFO and to the RX FIFO.
    pub(crate) fn words(&self, state: &State, config: &Config) -> [Option<Word>; 2] {
        let Pass { output, input, .. } = self.pass;
        let word = |passes: Option<u64>, step: Option<(usize, u32)>| {
            let (passes, at) = (passes.filter(|&passes| passes <= self.count)?, self.pass.steps[step?.0].at);
            let start = self.start + (passes - 1) * self.pass.cycles;
            Some(Word { passes, cycle: start + at, complete: start + self.pass.last_at() })
        };
        [word(self.pass.until_refill(state, config), output), word(self.pass.until_push(state, config), input)]
    }

    /// Removes the first `count` passes, which are over.
    pub(crate) fn passed(&mut self, count: u64) {
        self.start += count * self.pass.cycles;
        self.count -= count;
        self.limit = self.limit.saturating_sub(count);
    }
}
