//! A state machine: its registers and the execution of instructions (datasheet 3.2, 3.4 and 3.5).
//!
//! Cycles count clk_sys. An instruction belongs to the cycle at whose start its effects appear.

use super::config::{Config, PinWrite, bit_count, low_bits};
use super::divider::Divider;
use super::fifo::Fifos;
use super::inputs::Inputs;
use sim::{Clock, NEVER, Snapshot};

pub(crate) const INSTRUCTIONS: usize = 32;
/// Quiet instructions before a loop is looked for: most runs are shorter.
const SHORTEST: u32 = 8;
/// Least significant bits of the fields of FDEBUG.
pub(crate) const FDEBUG_RXSTALL: u32 = 1 << 0;
pub(crate) const FDEBUG_TXSTALL: u32 = 1 << 24;

mod op {
    pub(crate) const JMP: u16 = 0;
    pub(crate) const WAIT: u16 = 1;
    pub(crate) const IN: u16 = 2;
    pub(crate) const OUT: u16 = 3;
    pub(crate) const PUSH_PULL: u16 = 4;
    pub(crate) const MOV: u16 = 5;
    pub(crate) const IRQ: u16 = 6;
}
/// Destinations of OUT, MOV and SET.
mod to {
    pub(crate) const PINS: u16 = 0;
    pub(crate) const X: u16 = 1;
    pub(crate) const Y: u16 = 2;
    /// MOV's code for PINDIRS, of version 1.
    pub(crate) const MOV_PINDIRS: u16 = 3;
    pub(crate) const PINDIRS: u16 = 4;
    pub(crate) const MOV_EXEC: u16 = 4;
    pub(crate) const PC: u16 = 5;
    pub(crate) const ISR: u16 = 6;
    pub(crate) const OUT_EXEC: u16 = 7;
    pub(crate) const OSR: u16 = 7;
}
mod source {
    pub(crate) const PINS: u16 = 0;
    pub(crate) const X: u16 = 1;
    pub(crate) const Y: u16 = 2;
    pub(crate) const STATUS: u16 = 5;
    pub(crate) const ISR: u16 = 6;
    pub(crate) const OSR: u16 = 7;
}

/// State shared by the state machines of a block.
#[derive(Clone, Debug, Snapshot)]
pub(crate) struct Shared {
    pub(crate) memory: [u16; INSTRUCTIONS],
    pub(crate) inputs: Inputs,
    /// The eight IRQ flags.
    pub(crate) irq: u8,
    /// Levels and directions that PIO drives.
    pub(crate) out: u32,
    pub(crate) oe: u32,
}

/// The condition that a waiting instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Stall {
    Input,
    /// The reserved source of WAIT, which is not connected.
    Nothing,
    Irq,
    /// A word in the TX FIFO.
    Tx,
    /// Space in the RX FIFO.
    Rx,
}

/// The instruction to execute next: the program's, or one written to SMx_INSTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Slot {
    /// Cycle of the next attempt.
    pub(crate) next: u64,
    /// The reason if it cannot execute.
    pub(crate) stall: Option<Stall>,
    /// It has been attempted and has stalled.
    pub(super) tried: bool,
}

impl Slot {
    const IDLE: Self = Self { next: NEVER, stall: None, tried: false };
}

/// Effects of an instruction outside its state machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effects {
    /// A FIFO changed its level.
    pub(crate) fifo: bool,
    pub(crate) fdebug: u32,
    pub(crate) irq_set: u8,
    pub(crate) irq_clear: u8,
    /// OUT, SET or MOV to pins (0) and directions (1). An empty mask with `Some` withdraws a sticky one.
    pub(crate) written: [Option<PinWrite>; 2],
    pub(crate) side: [PinWrite; 2],
}

enum Outcome {
    Next,
    Jump(u32),
    /// OUT EXEC and MOV EXEC.
    Execute(u16),
    Stall(Stall),
    /// Retry in the next tick.
    Again,
}

/// The state that a program changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct State {
    pub(crate) enabled: bool,
    pub(crate) pc: u32,
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) isr: u32,
    pub(super) osr: u32,
    /// Bits shifted in and out, 0 to 32.
    pub(super) isr_count: u32,
    pub(super) osr_count: u32,
    /// Instruction to execute next, from OUT EXEC or MOV EXEC.
    pub(super) exec: Option<u16>,
    /// Tick of the next instruction (`flow.next`); while disabled, the number of ticks after the next one.
    pub(super) tick: u64,
    pub(crate) flow: Slot,
    /// Instruction written to SMx_INSTR.
    pub(crate) forced: Option<u16>,
    pub(crate) forced_slot: Slot,
    /// Since [`Self::clear_reliance`], pins were read, or these levels and directions were side-set without change.
    pub(crate) read_inputs: bool,
    pub(crate) relied_out: u32,
    pub(crate) relied_oe: u32,
    /// A word was lost at a full FIFO, which FDEBUG does not show yet.
    pub(crate) lost: bool,
}

/// The inputs of a state machine during execution.
pub(crate) struct View<'a> {
    pub(crate) index: u32,
    pub(crate) config: &'a Config,
    pub(crate) divider: &'a Divider,
    pub(crate) shared: &'a Shared,
    pub(crate) clock: &'a Clock,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            enabled: false,
            pc: 0,
            x: 0,
            y: 0,
            isr: 0,
            osr: 0,
            isr_count: 0,
            osr_count: 32,
            exec: None,
            tick: 0,
            flow: Slot::IDLE,
            forced: None,
            forced_slot: Slot::IDLE,
            read_inputs: false,
            relied_out: 0,
            relied_oe: 0,
            lost: false,
        }
    }

    pub(crate) fn registers(&self) -> [u32; 7] {
        [self.pc, self.x, self.y, self.isr, self.osr, self.isr_count, self.osr_count]
    }

    pub(crate) fn clear_reliance(&mut self) {
        self.read_inputs = false;
        self.relied_out = 0;
        self.relied_oe = 0;
    }

    /// Returns the cycle of the next attempt to execute an instruction.
    pub(crate) fn next(&self) -> u64 {
        if self.forced.is_some() { self.forced_slot.next } else { self.flow.next }
    }

    /// Returns whether a change of the inputs may complete the next instruction earlier than known.
    pub(crate) fn waits_for_input(&self) -> bool {
        let slot = if self.forced.is_some() { &self.forced_slot } else { &self.flow };
        slot.tried && matches!(slot.stall, Some(Stall::Input) | None)
    }

    /// Returns the stall condition, if nothing happens until it changes.
    pub(crate) fn stall(&self) -> Option<Stall> {
        if self.forced.is_some() { self.forced_slot.stall } else { self.flow.stall }
    }

    fn instruction(&self, shared: &Shared) -> u16 {
        self.forced.or(self.exec).unwrap_or(shared.memory[self.pc as usize])
    }

    /// Handles CTRL.SM_RESTART. PC, X, Y and the contents of OSR stay.
    pub(crate) fn restart(&mut self, divider: &Divider, now: u64) {
        self.isr = 0;
        self.isr_count = 0;
        self.osr_count = 32;
        self.exec = None;
        self.forced = None;
        self.forced_slot = Slot::IDLE;
        self.flow = Slot::IDLE;
        self.tick = 0;
        if self.enabled {
            self.resume_at(divider, now + 1);
        }
    }

    fn resume_at(&mut self, divider: &Divider, cycle: u64) {
        self.tick = divider.first_at(cycle);
        self.flow.next = divider.cycle(self.tick);
        self.flow.stall = None;
    }

    /// Stops the program's clock in cycle `now`, keeping the number of remaining delay ticks.
    pub(crate) fn freeze(&mut self, divider: &Divider, now: u64) {
        if self.enabled {
            // A stalled instruction is attempted in every tick.
            self.tick = if self.flow.tried { 0 } else { self.tick.saturating_sub(divider.first_at(now + 1)) };
            self.flow.next = NEVER;
            self.flow.stall = None;
            self.enabled = false;
        }
    }

    /// Resumes the program after cycle `now`.
    pub(crate) fn thaw(&mut self, divider: &Divider, now: u64) {
        if !self.enabled {
            self.tick += divider.first_at(now + 1);
            self.flow.next = divider.cycle(self.tick);
            self.enabled = true;
        }
    }

    /// Handles a write of `instruction` to SMx_INSTR in cycle `now`.
    pub(crate) fn force(&mut self, instruction: u16, now: u64) {
        self.forced = Some(instruction);
        self.forced_slot = Slot { next: now + 1, stall: None, tried: false };
    }

    /// Returns whether a forced instruction has not been attempted yet.
    pub(crate) fn force_is_pending(&self) -> bool {
        self.forced.is_some() && !self.forced_slot.tried
    }

    /// Retries instructions stalled on `stall` (`None`: on anything) in `cycle` or later, as the condition may hold
    /// now.
    pub(crate) fn wake(&mut self, stall: Option<Stall>, divider: &Divider, cycle: u64) {
        let wakes = |slot: &Slot| match (slot.stall, stall) {
            (Some(held), Some(stall)) => held == stall,
            (Some(_), None) => true,
            // A WAIT whose next attempt is deferred until a level arrives.
            (None, Some(Stall::Input) | None) => slot.tried && slot.next > cycle,
            (None, Some(_)) => false,
        };
        if self.forced.is_some() && wakes(&self.forced_slot) {
            self.forced_slot.stall = None;
            self.forced_slot.next = cycle;
        }
        if self.enabled && wakes(&self.flow) {
            self.resume_at(divider, cycle);
        }
    }

    /// Handles the replacement of the instruction at `address`: if it was being attempted, the new one starts afresh.
    pub(crate) fn replaced(&mut self, address: u32) {
        if self.pc == address && self.exec.is_none() {
            self.flow.tried = false;
        }
    }

    /// Returns whether autopull waits for a word.
    pub(crate) fn wants_refill(&self, config: &Config) -> bool {
        config.autopull() && self.osr_count >= config.pull_threshold()
    }

    /// Performs autopull between two OUTs.
    pub(crate) fn refill(&mut self, fifos: &mut Fifos) {
        if let Some(word) = fifos.tx.pop() {
            self.osr = word;
            self.osr_count = 0;
        }
    }

    /// Returns whether the next instruction changes only X, Y, ISR, OSR and PC, and depends only on these, the pins,
    /// the levels of the FIFOs, and those that it side-sets again.
    pub(crate) fn is_quiet(&self, view: &View, fifos: &Fifos) -> bool {
        if self.forced.is_some() || (self.wants_refill(view.config) && !fifos.tx.is_empty()) {
            return false;
        }
        let config = view.config;
        let instruction = self.instruction(view.shared);
        let side = config.side_write(instruction);
        let now = if config.side_is_pindirs() { view.shared.oe } else { view.shared.out };
        if !self.flow.tried && side.apply(now) != now {
            return false;
        }
        let field = (instruction >> 5) & 7;
        let bits = bit_count(u32::from(instruction));
        match instruction >> 13 {
            op::JMP => true,
            op::WAIT => field & 3 != 2,
            op::IN => !config.autopush() || self.isr_count + bits < config.push_threshold(),
            op::OUT => {
                let refills = config.autopull() && self.osr_count + bits >= config.pull_threshold();
                !refills && !matches!(field, to::PINS | to::PINDIRS)
            }
            op::MOV => field != to::PINS,
            op::PUSH_PULL if field & 1 != 0 => false,
            op::PUSH_PULL if field & 4 == 0 => fifos.rx.is_full(),
            op::PUSH_PULL => fifos.tx.is_empty(),
            op::IRQ => false,
            _ => !matches!(field, to::PINS | to::PINDIRS),
        }
    }

    /// Returns whether the next instruction may move a word, wait for one, or use a flag.
    pub(crate) fn moves_words(&self, view: &View, fifos: &Fifos) -> bool {
        let config = view.config;
        let instruction = self.instruction(view.shared);
        let bits = bit_count(u32::from(instruction));
        match instruction >> 13 {
            _ if self.wants_refill(config) && !fifos.tx.is_empty() => true,
            op::WAIT => (instruction >> 5) & 3 == 2,
            op::IN => config.autopush() && self.isr_count + bits >= config.push_threshold(),
            op::OUT => config.autopull() && self.osr_count + bits >= config.pull_threshold(),
            op::PUSH_PULL | op::IRQ => true,
            _ => false,
        }
    }

    /// Executes quiet instructions up to cycle `until`, at most `budget`.
    pub(crate) fn run_quiet(&mut self, view: &View, fifos: &mut Fifos, until: u64, budget: u32) {
        let mut earlier = None;
        for number in 0..budget {
            self.repeat_since(earlier, view, until);
            if self.flow.next > until || self.flow.next == NEVER || !self.is_quiet(view, fifos) {
                return;
            }
            if number >= SHORTEST && number.is_power_of_two() {
                let change = view.shared.inputs.next_visible(view.clock, self.flow.next);
                earlier = change.is_none_or(|change| change > until).then_some(*self);
            }
            if !self.repeat_self_loop(view, until) {
                let mut effects = Effects::default();
                self.execute(view, fifos, &mut effects);
                self.lost |= effects.fdebug & FDEBUG_RXSTALL != 0;
            }
        }
    }

    /// Repeats the instructions since `earlier`, if its state is the present one, up to cycle `until`. The inputs are
    /// steady until then.
    fn repeat_since(&mut self, earlier: Option<Self>, view: &View, until: u64) {
        let Some(earlier) = earlier else { return };
        let flow = Slot { next: self.flow.next, ..earlier.flow };
        if *self == (Self { tick: self.tick, flow, ..earlier }) {
            let period = self.tick - earlier.tick;
            self.tick += view.divider.first_at(until + 1).saturating_sub(self.tick) / period * period;
            self.flow.next = view.divider.cycle(self.tick);
        }
    }

    /// Executes a JMP to itself (X-- or Y--) as often as it is taken up to cycle `until`. Returns false if it is not such
    /// a JMP, or falls through.
    fn repeat_self_loop(&mut self, view: &View, until: u64) -> bool {
        let instruction = self.instruction(view.shared);
        if self.exec.is_some() || instruction >> 13 != op::JMP || u32::from(instruction & 31) != self.pc {
            return false;
        }
        let counter = match (instruction >> 5) & 7 {
            2 => &mut self.x,
            4 => &mut self.y,
            _ => return false,
        };
        let period = 1 + view.config.delay(instruction);
        let passes = (view.divider.first_at(until + 1) - self.tick).div_ceil(period).min(u64::from(*counter));
        if passes == 0 {
            return false;
        }
        *counter -= passes as u32;
        self.rely_on_side_set(view, instruction);
        self.tick += passes * period;
        self.flow = Slot { next: view.divider.cycle(self.tick), stall: None, tried: false };
        true
    }

    fn rely_on_side_set(&mut self, view: &View, instruction: u16) {
        let mask = view.config.side_write(instruction).mask;
        if view.config.side_is_pindirs() {
            self.relied_oe |= mask;
        } else {
            self.relied_out |= mask;
        }
    }

    /// Attempts to execute the instruction due in cycle [`Self::next`].
    pub(crate) fn execute(&mut self, view: &View, fifos: &mut Fifos, effects: &mut Effects) {
        let cycle = self.next();
        let instruction = self.instruction(view.shared);
        let tried = if self.forced.is_some() { self.forced_slot.tried } else { self.flow.tried };
        if !tried {
            effects.side[usize::from(view.config.side_is_pindirs())] = view.config.side_write(instruction);
            self.rely_on_side_set(view, instruction);
        }
        let refills = self.forced.is_none() && self.wants_refill(view.config) && !manages_osr(instruction);
        let outcome = match instruction >> 13 {
            op::JMP => self.jmp(instruction, view, cycle),
            op::WAIT => self.wait(instruction, view, cycle, effects),
            op::IN => self.shift_in(instruction, view, cycle, fifos, effects),
            op::OUT => self.shift_out(instruction, view, fifos, effects),
            op::PUSH_PULL if instruction & 0x80 == 0 => self.push(instruction, view, fifos, effects),
            op::PUSH_PULL => self.pull(instruction, view, fifos, effects),
            op::MOV => self.mov(instruction, view, cycle, fifos, effects),
            op::IRQ => self.irq(instruction, view, tried, effects),
            _ => self.set(instruction, view, effects),
        };
        if refills && !fifos.tx.is_empty() {
            self.refill(fifos);
            effects.fifo = true;
        }
        self.go_on(outcome, instruction, view, cycle);
    }

    fn go_on(&mut self, outcome: Outcome, instruction: u16, view: &View, cycle: u64) {
        let divider = view.divider;
        let forced = self.forced.is_some();
        match outcome {
            Outcome::Stall(stall) => {
                // A level still in the synchronisers may end this.
                let put_off =
                    (stall == Stall::Input).then(|| view.shared.inputs.next_visible(view.clock, cycle)).flatten();
                if let Some(next) = put_off {
                    self.put_off(divider, next);
                    return;
                }
                let slot = if forced { &mut self.forced_slot } else { &mut self.flow };
                *slot = Slot { next: NEVER, stall: Some(stall), tried: true };
            }
            Outcome::Again => self.put_off(divider, cycle + 1),
            _ if forced => {
                // Neither delay nor an advance of PC; the program continues where it was.
                self.forced = None;
                self.forced_slot = Slot::IDLE;
                if self.enabled && (self.flow.tried || self.flow.next <= cycle) {
                    self.resume_at(divider, cycle + 1);
                }
                match outcome {
                    Outcome::Jump(pc) => {
                        self.pc = pc;
                        self.flow.tried = false;
                    }
                    Outcome::Execute(executee) => {
                        self.exec = Some(executee);
                        self.flow.tried = false;
                    }
                    _ => {}
                }
            }
            _ => {
                let executee = self.exec.take().is_some();
                let mut delay = view.config.delay(instruction);
                match outcome {
                    Outcome::Jump(pc) => self.pc = pc,
                    _ if executee => {}
                    _ if self.pc == view.config.wrap_top() => self.pc = view.config.wrap_bottom(),
                    _ => self.pc = (self.pc + 1) & 31,
                }
                if let Outcome::Execute(executee) = outcome {
                    self.exec = Some(executee);
                    delay = 0;
                }
                self.tick += 1 + delay;
                self.flow = Slot { next: divider.cycle(self.tick), stall: None, tried: false };
            }
        }
    }

    /// Stalls the instruction; an attempt before `cycle` is useless.
    fn put_off(&mut self, divider: &Divider, cycle: u64) {
        if self.forced.is_some() {
            self.forced_slot = Slot { next: cycle, stall: None, tried: true };
        } else {
            self.resume_at(divider, cycle);
            self.flow.tried = true;
        }
    }

    fn sample(&mut self, view: &View, cycle: u64) -> u32 {
        self.read_inputs = true;
        view.shared.inputs.sample(view.clock, cycle)
    }

    fn jmp(&mut self, instruction: u16, view: &View, cycle: u64) -> Outcome {
        let taken = match (instruction >> 5) & 7 {
            0 => true,
            1 => self.x == 0,
            2 => count_down(&mut self.x),
            3 => self.y == 0,
            4 => count_down(&mut self.y),
            5 => self.x != self.y,
            6 => (self.sample(view, cycle) >> view.config.jmp_pin()) & 1 != 0,
            _ => self.osr_count < view.config.pull_threshold(),
        };
        if taken { Outcome::Jump(u32::from(instruction & 31)) } else { Outcome::Next }
    }

    fn wait(&mut self, instruction: u16, view: &View, cycle: u64, effects: &mut Effects) -> Outcome {
        let polarity = instruction & 0x80 != 0;
        let index = u32::from(instruction & 31);
        let (level, stall) = match (instruction >> 5) & 3 {
            0 => ((self.sample(view, cycle) >> index) & 1 != 0, Stall::Input),
            1 => ((self.sample(view, cycle) >> ((index + view.config.in_base()) & 31)) & 1 != 0, Stall::Input),
            2 => {
                let flag = irq_flag(instruction, view.index);
                let set = view.shared.irq & flag != 0;
                if set && polarity {
                    effects.irq_clear |= flag;
                }
                (set, Stall::Irq)
            }
            _ => (false, Stall::Nothing),
        };
        if level == polarity { Outcome::Next } else { Outcome::Stall(stall) }
    }

    fn shift_in(
        &mut self,
        instruction: u16,
        view: &View,
        cycle: u64,
        fifos: &mut Fifos,
        effects: &mut Effects,
    ) -> Outcome {
        let bits = bit_count(u32::from(instruction));
        let count = (self.isr_count + bits).min(32);
        let pushes = view.config.autopush() && count >= view.config.push_threshold();
        if pushes && fifos.rx.is_full() {
            // Nothing is shifted yet: a stalled instruction is executed again.
            effects.fdebug |= FDEBUG_RXSTALL;
            return Outcome::Stall(Stall::Rx);
        }
        let data = low_bits(bits)
            & match (instruction >> 5) & 7 {
                source::PINS => self.sample(view, cycle).rotate_right(view.config.in_base()),
                source::X => self.x,
                source::Y => self.y,
                source::ISR => self.isr,
                source::OSR => self.osr,
                _ => 0,
            };
        self.isr = if view.config.in_shifts_right() {
            self.isr.checked_shr(bits).unwrap_or(0) | (data << (32 - bits))
        } else {
            self.isr.checked_shl(bits).unwrap_or(0) | data
        };
        self.isr_count = count;
        if pushes {
            self.push_isr(fifos, effects);
        }
        Outcome::Next
    }

    pub(super) fn push_isr(&mut self, fifos: &mut Fifos, effects: &mut Effects) {
        effects.fifo |= fifos.rx.push(self.isr);
        self.isr = 0;
        self.isr_count = 0;
    }

    fn shift_out(&mut self, instruction: u16, view: &View, fifos: &mut Fifos, effects: &mut Effects) -> Outcome {
        if self.wants_refill(view.config) {
            // An empty OSR is not refilled and shifted in the same cycle.
            if fifos.tx.is_empty() {
                effects.fdebug |= FDEBUG_TXSTALL;
                return Outcome::Stall(Stall::Tx);
            }
            self.refill(fifos);
            effects.fifo = true;
            return Outcome::Again;
        }
        let bits = bit_count(u32::from(instruction));
        let data = if view.config.out_shifts_right() {
            let data = self.osr & low_bits(bits);
            self.osr = self.osr.checked_shr(bits).unwrap_or(0);
            data
        } else {
            let data = self.osr >> (32 - bits);
            self.osr = self.osr.checked_shl(bits).unwrap_or(0);
            data
        };
        self.osr_count = (self.osr_count + bits).min(32);
        let mut outcome = Outcome::Next;
        match (instruction >> 5) & 7 {
            to::PINS => effects.written[0] = Some(write_if_enabled(view.config, data)),
            to::PINDIRS => effects.written[1] = Some(write_if_enabled(view.config, data)),
            to::X => self.x = data,
            to::Y => self.y = data,
            to::PC => outcome = Outcome::Jump(data & 31),
            to::ISR => {
                self.isr = data;
                self.isr_count = bits;
            }
            to::OUT_EXEC => outcome = Outcome::Execute(data as u16),
            _ => {}
        }
        if self.wants_refill(view.config) && !fifos.tx.is_empty() {
            self.refill(fifos);
            effects.fifo = true;
        }
        outcome
    }

    fn push(&mut self, instruction: u16, view: &View, fifos: &mut Fifos, effects: &mut Effects) -> Outcome {
        let (if_full, block) = (instruction & 0x40 != 0, instruction & 0x20 != 0);
        if if_full && self.isr_count < view.config.push_threshold() {
            return Outcome::Next;
        }
        if fifos.rx.is_full() {
            effects.fdebug |= FDEBUG_RXSTALL;
            if block {
                return Outcome::Stall(Stall::Rx);
            }
        }
        // Without Block the word is lost, but ISR is still cleared.
        self.push_isr(fifos, effects);
        Outcome::Next
    }

    fn pull(&mut self, instruction: u16, view: &View, fifos: &mut Fifos, effects: &mut Effects) -> Outcome {
        let (if_empty, block) = (instruction & 0x40 != 0, instruction & 0x20 != 0);
        if if_empty && self.osr_count < view.config.pull_threshold() {
            return Outcome::Next;
        }
        // With autopull, PULL has no effect when OSR is full: the word has been pulled already (3.5.4.2).
        if view.config.autopull() && self.osr_count == 0 {
            return Outcome::Next;
        }
        if !fifos.tx.is_empty() {
            self.refill(fifos);
            effects.fifo = true;
        } else if block {
            effects.fdebug |= FDEBUG_TXSTALL;
            return Outcome::Stall(Stall::Tx);
        } else {
            self.osr = self.x;
            self.osr_count = 0;
        }
        Outcome::Next
    }

    fn mov(&mut self, instruction: u16, view: &View, cycle: u64, fifos: &Fifos, effects: &mut Effects) -> Outcome {
        let value = match instruction & 7 {
            source::PINS => self.sample(view, cycle).rotate_right(view.config.in_base()),
            source::X => self.x,
            source::Y => self.y,
            source::STATUS => {
                let level = if view.config.status_is_rx() { fifos.rx.len() } else { fifos.tx.len() };
                if level < view.config.status_n() { u32::MAX } else { 0 }
            }
            source::ISR => self.isr,
            source::OSR => self.osr,
            _ => 0,
        };
        let value = match (instruction >> 3) & 3 {
            1 => !value,
            2 => value.reverse_bits(),
            _ => value,
        };
        match (instruction >> 5) & 7 {
            to::PINS => effects.written[0] = Some(write_if_enabled(view.config, value)),
            to::X => self.x = value,
            to::Y => self.y = value,
            to::MOV_EXEC => return Outcome::Execute(value as u16),
            to::PC => return Outcome::Jump(value & 31),
            to::ISR => {
                self.isr = value;
                self.isr_count = 0;
            }
            to::OSR => {
                self.osr = value;
                self.osr_count = 0;
            }
            _ => {}
        }
        Outcome::Next
    }

    fn irq(&mut self, instruction: u16, view: &View, tried: bool, effects: &mut Effects) -> Outcome {
        let flag = irq_flag(instruction, view.index);
        let (clear, wait) = (instruction & 0x40 != 0, instruction & 0x20 != 0);
        if clear {
            effects.irq_clear |= flag;
        } else if !tried {
            effects.irq_set |= flag;
            if wait {
                return Outcome::Stall(Stall::Irq);
            }
        } else if view.shared.irq & flag != 0 {
            return Outcome::Stall(Stall::Irq);
        }
        Outcome::Next
    }

    fn set(&mut self, instruction: u16, view: &View, effects: &mut Effects) -> Outcome {
        let data = u32::from(instruction & 31);
        match (instruction >> 5) & 7 {
            to::PINS => effects.written[0] = Some(view.config.set_write(data)),
            to::PINDIRS => effects.written[1] = Some(view.config.set_write(data)),
            to::X => self.x = data,
            to::Y => self.y = data,
            _ => {}
        }
        Outcome::Next
    }
}

/// Returns whether only version 1 has `instruction`: WAIT JMPPIN, MOV to and from the RX FIFO, MOV PINDIRS, and flags
/// of neighbouring blocks.
pub(crate) fn is_new(instruction: u16) -> bool {
    let field = (instruction >> 5) & 7;
    match instruction >> 13 {
        op::WAIT if field & 3 == 2 => instruction & 8 != 0,
        op::WAIT => field & 3 == 3,
        op::PUSH_PULL => instruction & 0x10 != 0,
        op::MOV => field == to::MOV_PINDIRS,
        op::IRQ => instruction & 8 != 0,
        _ => false,
    }
}

/// Returns whether `instruction` controls OSR itself (OUT, PULL and MOV OSR); during others autopull may refill it.
fn manages_osr(instruction: u16) -> bool {
    match instruction >> 13 {
        op::OUT => true,
        op::PUSH_PULL => instruction & 0x80 != 0,
        op::MOV => (instruction >> 5) & 7 == to::OSR,
        _ => false,
    }
}

fn count_down(counter: &mut u32) -> bool {
    let taken = *counter != 0;
    *counter = counter.wrapping_sub(1);
    taken
}

fn write_if_enabled(config: &Config, data: u32) -> PinWrite {
    if config.out_enabled(data) { config.out_write(data) } else { PinWrite::default() }
}

/// Returns the flag of WAIT IRQ or IRQ: with bit 4, the machine's number is added to the two lowest bits modulo 4.
fn irq_flag(instruction: u16, machine: u32) -> u8 {
    let index = u32::from(instruction & 7);
    let index = if instruction & 0x10 != 0 { (index & 4) | ((index + machine) & 3) } else { index };
    1 << index
}
