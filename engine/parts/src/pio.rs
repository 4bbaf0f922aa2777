//! PIO: blocks of four programmable state machines (datasheet chapter 3).
//!
//! A state machine executes in events at its exact cycles of clk_sys. Runs of instructions without observable effects
//! are executed at once, ahead of time, on a copy of its state; a disturbance of the state machine before that time
//! drops the copy. A disabled or stalled state machine has no events.
//!
//! Loops that shift bits, to or from at most one device, are deferred until they become observable ([`crate::batch`]).
//!
//! A register write in cycle `c` is seen by instructions whose effects appear in cycle `c + 1` or later.

use crate::dma::REQUEST_CYCLES;
use crate::wires::{FunctionPins, PioWires, Version};
use block::Machine;
use chip::pins::Pins;
use chip::{Event, Peripheral, Sys, Write, unmodelled};
use config::{CLKDIV_MASK, EXEC_STALLED};
use inputs::Inputs;
use machine::{FDEBUG_RXSTALL, FDEBUG_TXSTALL, INSTRUCTIONS, Shared, Stall};
use sim::{Clock, NEVER, Ps, Snapshot};

pub(crate) use machine::State;
pub use pass::{Batch, Sampled, Word};
pub(crate) use pass::{Deferred, Exchange, Source};

mod block;
mod config;
mod divider;
mod fifo;
pub mod inputs;
mod looks;
mod machine;
mod pass;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
mod unseen;

/// Register offsets (datasheet 3.7).
mod offset {
    pub(crate) const CTRL: u32 = 0x000;
    pub(crate) const FSTAT: u32 = 0x004;
    pub(crate) const FDEBUG: u32 = 0x008;
    pub(crate) const FLEVEL: u32 = 0x00c;
    pub(crate) const TXF0: u32 = 0x010;
    pub(crate) const TXF3: u32 = 0x01c;
    pub(crate) const RXF0: u32 = 0x020;
    pub(crate) const RXF3: u32 = 0x02c;
    pub(crate) const IRQ: u32 = 0x030;
    pub(crate) const IRQ_FORCE: u32 = 0x034;
    pub(crate) const INPUT_SYNC_BYPASS: u32 = 0x038;
    pub(crate) const DBG_PADOUT: u32 = 0x03c;
    pub(crate) const DBG_PADOE: u32 = 0x040;
    pub(crate) const DBG_CFGINFO: u32 = 0x044;
    pub(crate) const INSTR_MEM0: u32 = 0x048;
    pub(crate) const INSTR_MEM31: u32 = 0x0c4;
    pub(crate) const SM0_CLKDIV: u32 = 0x0c8;
    pub(crate) const SM3_PINCTRL: u32 = 0x124;
    pub(crate) const INTR: u32 = 0x128;
    pub(crate) const IRQ0_INTE: u32 = 0x12c;
    pub(crate) const IRQ0_INTF: u32 = 0x130;
    pub(crate) const IRQ0_INTS: u32 = 0x134;
    pub(crate) const IRQ1_INTE: u32 = 0x138;
    pub(crate) const IRQ1_INTF: u32 = 0x13c;
    pub(crate) const IRQ1_INTS: u32 = 0x140;
    /// Registers of version 1: those of the RX FIFO's storage, and GPIOBASE. The interrupts' follow them.
    pub(crate) const RXF0_PUTGET0: u32 = 0x128;
    pub(crate) const GPIOBASE: u32 = 0x168;
    pub(crate) const V1_INTR: u32 = 0x16c;
    /// Distance between state machines' registers, and the registers of one.
    pub(crate) const SM_STRIDE: u32 = 0x18;
    pub(crate) const SM_CLKDIV: u32 = 0x00;
    pub(crate) const SM_EXECCTRL: u32 = 0x04;
    pub(crate) const SM_SHIFTCTRL: u32 = 0x08;
    pub(crate) const SM_ADDR: u32 = 0x0c;
    pub(crate) const SM_INSTR: u32 = 0x10;
    pub(crate) const SM_PINCTRL: u32 = 0x14;
}

const MACHINES: usize = 4;
/// 32 instructions, 4 state machines, 4 words per FIFO.
const CFGINFO: u32 = 0x0020_0404;
/// The interrupts by the levels of state machine 0's FIFOs.
const FIFO_INTERRUPTS: u32 = 0x11;
const FDEBUG_RXUNDER: u32 = 1 << 8;
const FDEBUG_TXOVER: u32 = 1 << 16;
const FDEBUG_BITS: u32 = 0x0f0f_0f0f;
/// DBG_CFGINFO.VERSION.
const CFGINFO_V1: u32 = 1 << 28;
/// CTRL of version 1: the operations on neighbouring blocks, and the places of the masks of their state machines.
const CTRL_NEXTPREV_SM_ENABLE: u32 = 1 << 24;
const CTRL_NEXTPREV_SM_DISABLE: u32 = 1 << 25;
const CTRL_NEXTPREV_CLKDIV_RESTART: u32 = 1 << 26;
const CTRL_PREV_PIO_MASK: u32 = 16;
const CTRL_NEXT_PIO_MASK: u32 = 20;
/// SHIFTCTRL: FJOIN_RX_PUT, FJOIN_RX_GET and IN_COUNT.
const SHIFTCTRL_V1: u32 = 0xc01f;
const GPIOBASE_BITS: u32 = 0x10;
/// Cycles to the latest event: limits lookahead, and keeps conversions to picoseconds in range.
const HORIZON_CYCLES: u64 = 1 << 20;

/// The effects of a cycle outside the block.
struct Acted {
    /// Levels or directions changed.
    pins: bool,
    /// Levels of FIFOs, or flags, may have changed.
    lines: bool,
}

/// A block of PIO: four state machines with their program memory, FIFOs and interrupt flags.
#[derive(Clone, Debug, Snapshot)]
pub struct Pio {
    wires: PioWires,
    shared: Shared,
    machines: [Machine; MACHINES],
    fdebug: u32,
    inte: [u32; 2],
    intf: [u32; 2],
    /// Cycle of this block's event.
    due: u64,
    /// Cycle in which OUT_STICKY overwrites another write to its pins.
    reassert: u64,
    /// Pins that the programs read, according to the registers.
    looks: u32,
    /// GPIOBASE: the pin that the block knows as its first.
    base: u32,
    /// The deferred batch before the event; [`crate::batch`] runs it.
    batch: Option<Batch>,
    /// The actions before the event are deferred.
    #[snapshot(skip)]
    unseen: unseen::Unseen,
}

/// Returns the cycle of a bus access or event: the first that starts now or later.
fn cycle_now(sys: &Sys) -> u64 {
    match sys.event_time() {
        Some(now) if sys.clock.ps_at(sys.cycle) != now => sys.clock.cycle_at(now),
        _ => sys.cycle,
    }
}

impl Pio {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: PioWires) -> Self {
        Self {
            wires,
            shared: Shared { memory: [0; INSTRUCTIONS], inputs: Inputs::new(0), irq: 0, out: 0, oe: 0 },
            machines: [0, 1, 2, 3].map(|index| Machine::new(index, wires.version)),
            fdebug: 0,
            inte: [0; 2],
            intf: [0; 2],
            due: NEVER,
            reassert: NEVER,
            looks: 0,
            base: 0,
            batch: None,
            unseen: unseen::Unseen::default(),
        }
    }

    /// Returns this block's event.
    pub(crate) fn event_id(&self) -> Event {
        self.wires.event
    }

    /// Returns those of the block's pins that it drives or may drive.
    pub(crate) fn selected(&self, pins: &Pins) -> u32 {
        self.wires.pins.selected(pins) as u32
    }

    /// Handles this block's event.
    pub fn event(&mut self, sys: &mut Sys) {
        let now = std::mem::replace(&mut self.due, NEVER);
        if now == NEVER {
            return;
        }
        self.step(sys, now);
        self.plan(sys, now);
    }

    /// Handles a change of clk_sys: everything keeps its cycles.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        self.disturb_all(sys, cycle_now(sys));
        self.plan(sys, cycle_now(sys));
    }

    /// Handles changed levels at the input buffers (`sys.pins.input`).
    pub fn input_changed(&mut self, sys: &mut Sys) {
        let levels = (sys.pins.input() >> self.base) as u32;
        let changed = levels ^ self.shared.inputs.levels();
        if changed == 0 {
            return;
        }
        self.shared.inputs.change(sys.now(), levels);
        if changed & self.looks == 0 && self.machines.iter().all(|machine| machine.state.forced.is_none()) {
            return;
        }
        let mut affected = false;
        for machine in &mut self.machines {
            if !machine.state.waits_for_input() && !machine.ahead.is_some_and(|ahead| ahead.read_inputs) {
                continue;
            }
            machine.disturb(&self.shared, &sys.clock, cycle_now(sys));
            if machine.state.waits_for_input() {
                machine.wake(Some(Stall::Input), self.shared.inputs.visible_from(&sys.clock, sys.now()));
            }
            affected = true;
        }
        if affected {
            self.plan(sys, cycle_now(sys));
        }
    }

    fn disturb_all(&mut self, sys: &Sys, now: u64) {
        for machine in &mut self.machines {
            machine.disturb(&self.shared, &sys.clock, now);
        }
    }

    /// Executes cycle `now` of all state machines, with its effects outside the block.
    fn step(&mut self, sys: &mut Sys, now: u64) {
        let acted = self.act(&sys.clock, now);
        if acted.pins {
            self.update_pins(sys);
        }
        if acted.lines {
            self.update_lines(sys);
        }
    }

    /// Executes cycle `now` of all state machines, without effects outside the block.
    fn act(&mut self, clock: &Clock, now: u64) -> Acted {
        let mut lines = false;
        let (mut irq_set, mut irq_clear) = (0, 0);
        let mut pins = [self.shared.out, self.shared.oe];
        let mut wrote_pins = self.reassert <= now;
        for (index, machine) in self.machines.iter_mut().enumerate().filter(|(_, machine)| !machine.rests()) {
            let held = machine.sticky;
            let effects = machine.step(&self.shared, clock, now);
            irq_set |= effects.irq_set;
            irq_clear |= effects.irq_clear;
            lines |= effects.fifo;
            self.fdebug |= effects.fdebug << index;
            // The highest-numbered state machine wins, and its side-set over its OUT or SET (3.5.6.2).
            for (kind, pins) in pins.iter_mut().enumerate() {
                let written = effects.written[kind].or(held[kind]).unwrap_or_default();
                let side = effects.side[kind];
                *pins = side.apply(written.apply(*pins));
                wrote_pins |= (written.mask | side.mask) != 0;
            }
        }
        if irq_set | irq_clear != 0 {
            self.shared.irq = (self.shared.irq & !irq_clear) | irq_set;
            self.wake(Some(Stall::Irq), now);
            lines = true;
        }
        Acted { pins: wrote_pins && self.drive(clock, pins, now), lines }
    }

    fn wake(&mut self, stall: Option<Stall>, now: u64) {
        for machine in &mut self.machines {
            machine.wake(stall, now + 1);
        }
    }

    /// Drives levels and directions `pins` from cycle `now` on. Returns whether any changed.
    fn drive(&mut self, clock: &Clock, pins: [u32; 2], now: u64) -> bool {
        let [out, oe] = pins;
        self.plan_reassertion(pins, now);
        let (changed_out, changed_oe) = (out ^ self.shared.out, oe ^ self.shared.oe);
        if changed_out | changed_oe == 0 {
            return false;
        }
        for machine in &mut self.machines {
            if machine.ahead.is_some_and(|ahead| (ahead.relied_out & changed_out) | (ahead.relied_oe & changed_oe) != 0)
            {
                machine.disturb(&self.shared, clock, now);
            }
        }
        self.shared.out = out;
        self.shared.oe = oe;
        true
    }

    /// Finds out whether sticky writes overwrite `pins` in the cycle after `now`.
    fn plan_reassertion(&mut self, pins: [u32; 2], now: u64) {
        let mut held = pins;
        for (kind, held) in held.iter_mut().enumerate() {
            for write in self.machines.iter().filter_map(|machine| machine.sticky[kind]) {
                *held = write.apply(*held);
            }
        }
        self.reassert = if held == pins { NEVER } else { now + 1 };
    }

    fn update_pins(&self, sys: &mut Sys) {
        let FunctionPins { function, pins } = self.wires.pins;
        sys.pins.function_out[function] = u64::from(self.shared.out) << self.base & pins;
        sys.pins.function_oe[function] = u64::from(self.shared.oe) << self.base & pins;
        sys.pins.refresh();
    }

    /// Returns the cycle of the next action, up to cycle `horizon`; looks ahead for it.
    fn next_action(&mut self, clock: &Clock, horizon: u64) -> u64 {
        let mut due = self.reassert;
        let mut unknown = [false; MACHINES];
        for (machine, unknown) in self.machines.iter_mut().zip(&mut unknown) {
            match machine.known_next(&self.shared, clock) {
                Some(next) => due = due.min(next),
                None => *unknown = true,
            }
        }
        for (machine, _) in self.machines.iter_mut().zip(unknown).filter(|(_, unknown)| *unknown) {
            // No further than an action of another one.
            due = due.min(machine.look_ahead(&self.shared, clock, due.min(horizon) - 1));
        }
        due
    }

    /// Looks ahead from cycle `now` and schedules the next event.
    fn plan(&mut self, sys: &mut Sys, now: u64) {
        self.watch_pins(sys);
        let horizon = now.max(sys.cycle) + HORIZON_CYCLES;
        let mut due = self.next_action(&sys.clock, horizon);
        if due != NEVER {
            due = due.min(horizon);
        }
        if due != self.due || due != NEVER {
            self.due = due;
            let at = if due == NEVER { NEVER } else { sys.clock.ps_at(due) };
            sys.schedule(self.wires.event, at);
        }
        sys.batch_possible |= due != NEVER;
    }

    /// Returns whether an access to `register` is one to a FIFO of the deferred batch's state machine, which goes on.
    pub(crate) fn is_fifo_of_batch(&self, sys: &Sys, register: u32) -> bool {
        let Some(batch) = &self.batch else { return false };
        let index = batch.machine as u32;
        (register == offset::TXF0 + 4 * index || register == offset::RXF0 + 4 * index)
            && cycle_now(sys) < batch.end()
            && self.machines[batch.machine].has_words()
    }

    /// Returns what `register` reads up to a write or an event. `None`: it does not tell the state of the FIFOs, or a batch
    /// changes them.
    pub fn polled(&self, register: u32) -> Option<u32> {
        let value = match register {
            offset::FSTAT => self.fstat(),
            offset::FLEVEL => self.flevel(),
            _ => return None,
        };
        self.batch.is_none().then_some(value)
    }

    /// Returns whether a read of `register` observes the effects of a batch, or changes its inputs.
    pub(crate) fn is_read_by_batch(register: u32) -> bool {
        match register {
            offset::RXF0..=offset::RXF3 | offset::DBG_PADOUT | offset::DBG_PADOE => true,
            offset::SM0_CLKDIV..=offset::SM3_PINCTRL => {
                matches!((register - offset::SM0_CLKDIV) % offset::SM_STRIDE, offset::SM_ADDR | offset::SM_INSTR)
            }
            _ => false,
        }
    }

    /// Returns the next batch, if one state machine has one and no other does anything. A block whose first pin is not
    /// GPIO0 has none.
    pub(crate) fn find_batch(&self, sys: &Sys) -> Option<(State, Batch)> {
        let idle = |machine: &Machine| {
            let sticky = machine.sticky.iter().any(Option::is_some);
            machine.refill == NEVER && !sticky && !machine.state.waits_for_input()
        };
        if self.base != 0 || self.reassert != NEVER || !self.machines.iter().all(idle) {
            return None;
        }
        let mut running = self.machines.iter().filter(|machine| machine.next() != NEVER);
        let (machine, None) = (running.next()?, running.next()) else { return None };
        // An interrupt by the level of a FIFO comes in the cycle of the word.
        let by_fifo = (FIFO_INTERRUPTS << machine.index) & (self.inte[0] | self.inte[1]);
        machine.batch(&self.shared, &sys.clock, cycle_now(sys), HORIZON_CYCLES, by_fifo == 0)
    }

    /// Defers `batch`, at whose start the state machine is in `state`.
    pub(crate) fn defer(&mut self, sys: &mut Sys, state: State, batch: Batch) {
        let machine = &mut self.machines[batch.machine];
        machine.state = state;
        machine.ahead = None;
        self.batch = Some(batch);
        self.plan_batch(sys);
    }

    /// Fits the deferred batch to the words in its FIFOs, and schedules the event: at its end, or when the request for a
    /// word that DMA waits for is seen, since DMA alone sees it, [`REQUEST_CYCLES`] later.
    pub(crate) fn plan_batch(&mut self, sys: &mut Sys) {
        let Some(batch) = &mut self.batch else { return };
        let machine = &self.machines[batch.machine];
        machine.fit(batch);
        let mut due = batch.end();
        let awaited = sys.watched_dreqs() & !sys.dreq_level();
        let dreqs = [self.wires.tx_dreq, self.wires.rx_dreq].map(|first| first + batch.machine as u32);
        for (word, dreq) in machine.words(batch).into_iter().zip(dreqs) {
            if let Some(word) = word.filter(|_| awaited >> dreq & 1 != 0) {
                due = due.min(word.cycle + REQUEST_CYCLES);
            }
        }
        self.due = due;
        sys.schedule(self.wires.event, sys.clock.ps_at(due));
    }

    /// Returns the next words that the deferred batch moves, from the TX FIFO and to the RX FIFO.
    pub(crate) fn words(&self) -> [Option<Word>; 2] {
        self.batch.as_ref().map_or([None; 2], |batch| self.machines[batch.machine].words(batch))
    }

    /// Returns whether the deferred batch goes on at `cycle`.
    pub(crate) fn defers(&self, cycle: u64) -> bool {
        self.batch.as_ref().is_some_and(|batch| cycle < batch.end())
    }

    /// Moves a word of the deferred batch: from the TX FIFO or, `to_rx`, to the RX FIFO.
    pub(crate) fn move_word(&mut self, sys: &mut Sys, to_rx: bool) {
        if let Some(batch) = &self.batch {
            self.machines[batch.machine].move_word(to_rx);
            self.update_lines(sys);
        }
    }

    /// Returns the deferred batch.
    pub(crate) fn batch(&self) -> Option<Batch> {
        self.batch
    }

    /// Takes the deferred batch.
    pub(crate) fn take_batch(&mut self) -> Option<Batch> {
        self.batch.take()
    }

    /// Returns the next `count` bits that OUT outputs in `batch`, the first one in the most significant place.
    pub(crate) fn bits_out(&self, batch: &Batch, count: u64) -> u32 {
        self.machines[batch.machine].bits_out(&batch.pass, count)
    }

    /// Returns the levels that IN reads in `cycle`, with IN_BASE's in the lowest place, and whether they stay the same
    /// while the pins do.
    pub(crate) fn sample(&self, sys: &Sys, machine: usize, cycle: u64) -> (u32, bool) {
        let inputs = &self.shared.inputs;
        let levels = inputs.sample(&sys.clock, cycle).rotate_right(self.machines[machine].config.in_base());
        (levels, inputs.next_visible(&sys.clock, cycle).is_none())
    }

    /// Returns the pins that IN of `bits` bits reads.
    pub(crate) fn read_by_in(&self, machine: usize, bits: u32) -> u32 {
        config::low_bits(bits).rotate_left(self.machines[machine].config.in_base())
    }

    /// Returns the cycles from a change of `pin` at an edge of clk_sys to the first instruction that sees it.
    pub(crate) fn input_delay(&self, sys: &Sys, pin: u32) -> u64 {
        self.shared.inputs.delay(&sys.clock, pin)
    }

    /// Returns the pins that enabled state machines may read.
    pub(crate) fn looks(&self) -> u64 {
        u64::from(self.looks) << self.base
    }

    /// Returns whether a state machine has an instruction from SMx_INSTR to execute.
    pub(crate) fn is_forced(&self) -> bool {
        self.machines.iter().any(|machine| machine.state.forced.is_some())
    }

    /// Returns the registers that drive the pins: levels and directions.
    pub(crate) fn outputs(&self) -> [u32; 2] {
        [self.shared.out, self.shared.oe]
    }

    /// Runs the first `count` passes of the deferred batch, which end with the levels `out`, but for their words.
    pub(crate) fn advance(&mut self, sys: &mut Sys, count: u64, inputs: Sampled, out: u32) {
        if let Some(batch) = &mut self.batch {
            self.machines[batch.machine].advance(&batch.pass, count, inputs);
            batch.passed(count);
        }
        self.shared.out = out;
        self.update_pins(sys);
    }

    /// Records that the input buffers had these levels from `at` on.
    pub(crate) fn note_inputs(&mut self, at: Ps, levels: u64) {
        let levels = (levels >> self.base) as u32;
        if levels != self.shared.inputs.levels() {
            self.shared.inputs.change(at, levels);
        }
    }

    /// Executes the next action, if it is in cycle `until` or before. Returns that cycle.
    pub(crate) fn step_once(&mut self, sys: &mut Sys, until: u64) -> Option<u64> {
        let next = self.machines.iter().map(Machine::next).min().filter(|&next| next <= until)?;
        sys.set_event_time(Some(sys.clock.ps_at(next)));
        self.step(sys, next);
        Some(next)
    }

    /// Returns everything that the state machines' programs change.
    pub fn registers(&self) -> Vec<[u32; 7]> {
        self.machines.iter().map(|machine| machine.state.registers()).collect()
    }

    /// Plans again after cycle `now`.
    pub(crate) fn replan(&mut self, sys: &mut Sys, now: u64) {
        self.plan(sys, now);
    }

    /// Returns INTR.
    fn raw_interrupts(&self) -> u32 {
        let flags = self.int_bits() >> 8;
        let mut raw = (u32::from(self.shared.irq) & flags) << 8;
        for (index, machine) in self.machines.iter().enumerate() {
            raw |= u32::from(!machine.fifos.rx.is_empty()) << index;
            raw |= u32::from(!machine.fifos.tx.is_full()) << (4 + index);
        }
        raw
    }

    /// Returns the bits of the interrupt registers: version 0 shows four of the eight flags.
    fn int_bits(&self) -> u32 {
        match self.wires.version {
            Version::V0 => 0xfff,
            Version::V1 => 0xffff,
        }
    }

    /// Returns the offset in version 0 of a register that both versions have.
    fn common(&self, register: u32) -> Option<u32> {
        match (self.wires.version, register) {
            (Version::V1, offset::RXF0_PUTGET0..=offset::GPIOBASE) => None,
            (Version::V1, offset::V1_INTR..) => Some(register - offset::V1_INTR + offset::INTR),
            _ => Some(register),
        }
    }

    /// Handles a write to a register that only version 1 has.
    fn write_new(&mut self, sys: &mut Sys, register: u32, write: Write) {
        if register != offset::GPIOBASE {
            unmodelled(sys, self.wires.name, register, Some(write.bits));
            return;
        }
        let now = cycle_now(sys);
        self.disturb_all(sys, now);
        self.base = write.apply(self.base) & GPIOBASE_BITS;
        self.update_pins(sys);
        self.input_changed(sys);
        self.look_at_programs();
        self.plan(sys, now);
    }

    /// Ends the run at a use of version 1's features that are not modelled: the RX FIFO as storage, IN_COUNT, and the
    /// instructions of these, of neighbours' flags and of MOV PINDIRS, WAIT JMPPIN and STATUS by flags.
    fn check_new(&mut self, sys: &mut Sys, register: u32, write: Write) {
        let is = |first: u32| {
            (offset::SM0_CLKDIV..=offset::SM3_PINCTRL).contains(&register)
                && (register - offset::SM0_CLKDIV) % offset::SM_STRIDE == first
        };
        let new = self.wires.version == Version::V1
            && match register {
                offset::INSTR_MEM0..=offset::INSTR_MEM31 => machine::is_new(write.apply(0) as u16),
                _ if is(offset::SM_INSTR) => machine::is_new(write.apply(0) as u16),
                _ if is(offset::SM_SHIFTCTRL) => write.apply(0) & SHIFTCTRL_V1 != 0,
                _ if is(offset::SM_EXECCTRL) => write.apply(0) >> 5 & 3 > 1,
                _ => false,
            };
        if new {
            unmodelled(sys, self.wires.name, register, Some(write.bits));
        }
    }

    fn interrupt_status(&self, line: usize) -> u32 {
        (self.raw_interrupts() & self.inte[line]) | self.intf[line]
    }

    /// Requests every edge at the pins while anything may read them.
    fn watch_pins(&self, sys: &mut Sys) {
        let runs = self.machines.iter().any(|machine| machine.state.enabled || machine.state.forced.is_some());
        let PioWires { watcher, pins, .. } = self.wires;
        sys.watch_pins(watcher, if runs { pins.pins } else { 0 });
        sys.follow_pins(watcher, if runs { u64::from(self.looks) << self.base } else { 0 });
    }

    /// Finds the pins that the programs read. An instruction forced by SMx_INSTR that is not in memory is ignored.
    fn look_at_programs(&mut self) {
        let enabled = self.machines.iter().filter(|machine| machine.state.enabled);
        self.looks =
            enabled.fold(0, |pins, machine| pins | looks::pins(&self.shared.memory, &machine.config)) & self.pins();
    }

    /// Returns the pins that the programs can use.
    fn pins(&self) -> u32 {
        (self.wires.pins.pins >> self.base) as u32
    }

    /// Recomputes interrupt and DREQ lines.
    fn update_lines(&self, sys: &mut Sys) {
        let PioWires { irq, tx_dreq, rx_dreq, .. } = self.wires;
        for (index, machine) in self.machines.iter().enumerate() {
            sys.set_dreq(tx_dreq + index as u32, !machine.fifos.tx.is_full());
            sys.set_dreq(rx_dreq + index as u32, !machine.fifos.rx.is_empty());
        }
        for index in 0..2 {
            sys.set_irq(irq + index as u32, self.interrupt_status(index) != 0);
        }
    }

    /// Sets the flags of stalls that have continued since FDEBUG was cleared, and of words that were lost since then.
    fn update_fdebug(&mut self, sys: &Sys, now: u64) {
        for (index, machine) in self.machines.iter_mut().enumerate() {
            // No pass of a deferred batch loses words.
            if self.batch.is_none() {
                machine.sync(&self.shared, &sys.clock, now);
            }
            self.fdebug |= machine.take_lost() << index;
            for (stall, flag) in [(Stall::Tx, FDEBUG_TXSTALL), (Stall::Rx, FDEBUG_RXSTALL)] {
                if machine.stalls_again(stall, now) {
                    self.fdebug |= flag << index;
                }
            }
        }
    }

    fn fstat(&self) -> u32 {
        let mut stat = 0;
        for (index, machine) in self.machines.iter().enumerate() {
            let fifos = &machine.fifos;
            stat |= (u32::from(fifos.rx.is_full()) | u32::from(fifos.rx.is_empty()) << 8) << index;
            stat |= (u32::from(fifos.tx.is_full()) << 16 | u32::from(fifos.tx.is_empty()) << 24) << index;
        }
        stat
    }

    fn flevel(&self) -> u32 {
        self.machines.iter().rev().fold(0, |levels, machine| {
            (levels << 8) | ((machine.fifos.rx.len() as u32) << 4) | machine.fifos.tx.len() as u32
        })
    }

    fn enabled(&self) -> u32 {
        self.machines.iter().rev().fold(0, |bits, machine| (bits << 1) | u32::from(machine.state.enabled))
    }

    fn write_ctrl(&mut self, sys: &mut Sys, ctrl: u32, now: u64) {
        self.disturb_all(sys, now);
        for (index, machine) in self.machines.iter_mut().enumerate() {
            let bit = |lsb: usize| ctrl & (1 << (lsb + index)) != 0;
            if bit(4) {
                machine.restart(now);
            }
            if bit(8) {
                machine.restart_divider(now);
            }
            machine.set_enabled(bit(0), now);
        }
        self.plan_reassertion([self.shared.out, self.shared.oe], now);
    }

    /// Does what a write to CTRL of a neighbouring block asks of this one, its next or its previous block.
    pub fn write_ctrl_of_neighbour(&mut self, sys: &mut Sys, write: Write, is_next: bool) {
        let bits = write.apply(0);
        let machines = bits >> if is_next { CTRL_NEXT_PIO_MASK } else { CTRL_PREV_PIO_MASK } & 0xf;
        let mut ctrl = self.enabled();
        if bits & CTRL_NEXTPREV_SM_ENABLE != 0 {
            ctrl |= machines;
        }
        if bits & CTRL_NEXTPREV_SM_DISABLE != 0 {
            ctrl &= !machines;
        }
        if bits & CTRL_NEXTPREV_CLKDIV_RESTART != 0 {
            ctrl |= machines << 8;
        }
        if ctrl != self.enabled() {
            self.write(sys, offset::CTRL, Write::normal(ctrl));
        }
    }

    fn write_tx(&mut self, sys: &mut Sys, index: usize, word: u32, now: u64) {
        let machine = &mut self.machines[index];
        if self.batch.is_none() {
            machine.disturb(&self.shared, &sys.clock, now);
        }
        if machine.fifos.tx.push(word) {
            machine.wake(Some(Stall::Tx), now + 1);
            machine.plan_refill(now);
        } else {
            self.fdebug |= FDEBUG_TXOVER << index;
        }
    }

    fn read_rx(&mut self, sys: &mut Sys, index: usize) -> u32 {
        let now = cycle_now(sys);
        self.update_fdebug(sys, now);
        let machine = &mut self.machines[index];
        let Some(word) = machine.fifos.rx.pop() else {
            self.fdebug |= FDEBUG_RXUNDER << index;
            return 0;
        };
        if self.batch.is_some() {
            self.update_lines(sys);
            self.plan_batch(sys);
            return word;
        }
        machine.ahead = None;
        if machine.state.stall() == Some(Stall::Rx) {
            machine.wake(Some(Stall::Rx), now + 1);
        }
        self.plan(sys, now);
        self.update_lines(sys);
        word
    }

    fn read_machine(&mut self, sys: &mut Sys, index: usize, register: u32) -> u32 {
        let now = cycle_now(sys);
        let machine = &mut self.machines[index];
        match register {
            offset::SM_CLKDIV => machine.config.clkdiv,
            offset::SM_EXECCTRL => {
                machine.config.execctrl | if machine.state.forced.is_some() { EXEC_STALLED } else { 0 }
            }
            offset::SM_SHIFTCTRL => machine.config.shiftctrl,
            offset::SM_ADDR | offset::SM_INSTR => {
                machine.sync(&self.shared, &sys.clock, now);
                let pc = machine.state.pc;
                if register == offset::SM_ADDR { pc } else { u32::from(self.shared.memory[pc as usize]) }
            }
            _ => machine.config.pinctrl,
        }
    }

    fn write_machine(&mut self, sys: &mut Sys, index: usize, register: u32, write: Write, now: u64) {
        if register == offset::SM_INSTR && self.machines[index].state.force_is_pending() {
            // Writes faster than one per cycle of this model's bus: each instruction still executes.
            self.step(sys, self.machines[index].next());
        }
        let machine = &mut self.machines[index];
        machine.disturb(&self.shared, &sys.clock, now);
        let config = machine.config;
        match register {
            offset::SM_CLKDIV => machine.set_clkdiv(now, write.apply(config.clkdiv) & CLKDIV_MASK),
            offset::SM_EXECCTRL => {
                machine.set_execctrl(now, write.apply(config.execctrl));
                self.plan_reassertion([self.shared.out, self.shared.oe], now);
            }
            offset::SM_SHIFTCTRL => machine.set_shiftctrl(now, write.apply(config.shiftctrl)),
            offset::SM_INSTR => {
                let old = u32::from(self.shared.memory[machine.state.pc as usize]);
                machine.force(write.apply(old) as u16, now);
            }
            offset::SM_PINCTRL => machine.set_pinctrl(now, write.apply(config.pinctrl)),
            _ => {}
        }
    }

    fn write_memory(&mut self, sys: &mut Sys, address: usize, write: Write, now: u64) {
        self.disturb_all(sys, now);
        // The register reads as 0, so the aliases modify 0.
        let instruction = write.apply(0) as u16;
        if self.shared.memory[address] == instruction {
            return;
        }
        self.shared.memory[address] = instruction;
        for machine in &mut self.machines {
            machine.wake(None, now + 1);
            machine.state.replaced(address as u32);
        }
    }
}

impl Peripheral for Pio {
    fn name(&self) -> &'static str {
        self.wires.name
    }

    fn read(&mut self, sys: &mut Sys, register: u32) -> u32 {
        let Some(register) = self.common(register) else {
            if register != offset::GPIOBASE {
                unmodelled(sys, self.wires.name, register, None);
            }
            return self.base;
        };
        match register {
            offset::CTRL => self.enabled(),
            offset::FSTAT => self.fstat(),
            offset::FDEBUG => {
                self.update_fdebug(sys, cycle_now(sys));
                self.fdebug
            }
            offset::FLEVEL => self.flevel(),
            offset::RXF0..=offset::RXF3 => self.read_rx(sys, (register - offset::RXF0) as usize / 4),
            offset::IRQ => u32::from(self.shared.irq),
            offset::INPUT_SYNC_BYPASS => self.shared.inputs.bypass,
            offset::DBG_PADOUT => self.shared.out & self.pins(),
            offset::DBG_PADOE => self.shared.oe & self.pins(),
            offset::DBG_CFGINFO if self.wires.version == Version::V1 => CFGINFO | CFGINFO_V1,
            offset::DBG_CFGINFO => CFGINFO,
            offset::SM0_CLKDIV..=offset::SM3_PINCTRL => {
                let from_first = register - offset::SM0_CLKDIV;
                self.read_machine(sys, (from_first / offset::SM_STRIDE) as usize, from_first % offset::SM_STRIDE)
            }
            offset::INTR => self.raw_interrupts(),
            offset::IRQ0_INTE => self.inte[0],
            offset::IRQ0_INTF => self.intf[0],
            offset::IRQ0_INTS => self.interrupt_status(0),
            offset::IRQ1_INTE => self.inte[1],
            offset::IRQ1_INTF => self.intf[1],
            offset::IRQ1_INTS => self.interrupt_status(1),
            // TXF, INSTR_MEM and IRQ_FORCE are write-only.
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, register: u32, write: Write) {
        let now = cycle_now(sys);
        // A Cortex-M33 writes in successive cycles: an instruction forced in the one before uses the old registers.
        if self.due <= now && self.is_forced() {
            self.event(sys);
        }
        let Some(register) = self.common(register) else {
            self.write_new(sys, register, write);
            return;
        };
        self.check_new(sys, register, write);
        // Any write may end a stall.
        self.update_fdebug(sys, now);
        match register {
            offset::CTRL => {
                let ctrl = write.apply(self.enabled());
                self.write_ctrl(sys, ctrl, now);
            }
            offset::FDEBUG => {
                self.fdebug &= !(write.ones() & FDEBUG_BITS);
                for machine in &mut self.machines {
                    machine.ahead = None;
                    machine.fdebug_cleared = now;
                }
            }
            offset::TXF0..=offset::TXF3 => {
                self.write_tx(sys, (register - offset::TXF0) as usize / 4, write.apply(0), now)
            }
            offset::IRQ | offset::IRQ_FORCE => {
                if register == offset::IRQ {
                    self.shared.irq &= !(write.ones() as u8);
                } else {
                    self.shared.irq |= write.apply(0) as u8;
                }
                self.wake(Some(Stall::Irq), now);
            }
            offset::INPUT_SYNC_BYPASS => {
                self.disturb_all(sys, now);
                self.shared.inputs.bypass = write.apply(self.shared.inputs.bypass);
                self.wake(None, now);
            }
            offset::INSTR_MEM0..=offset::INSTR_MEM31 => {
                self.write_memory(sys, (register - offset::INSTR_MEM0) as usize / 4, write, now);
            }
            offset::SM0_CLKDIV..=offset::SM3_PINCTRL => {
                let from_first = register - offset::SM0_CLKDIV;
                self.write_machine(
                    sys,
                    (from_first / offset::SM_STRIDE) as usize,
                    from_first % offset::SM_STRIDE,
                    write,
                    now,
                );
            }
            offset::IRQ0_INTE | offset::IRQ1_INTE => {
                let bits = self.int_bits();
                let inte = &mut self.inte[usize::from(register == offset::IRQ1_INTE)];
                *inte = write.apply(*inte) & bits;
            }
            offset::IRQ0_INTF | offset::IRQ1_INTF => {
                let bits = self.int_bits();
                let intf = &mut self.intf[usize::from(register == offset::IRQ1_INTF)];
                *intf = write.apply(*intf) & bits;
            }
            _ => return,
        }
        if matches!(register, offset::CTRL | offset::INSTR_MEM0..=offset::SM3_PINCTRL) {
            self.look_at_programs();
        }
        self.update_lines(sys);
        if self.batch.is_some() {
            // The word was one for the deferred batch, which is not disturbed.
            self.plan_batch(sys);
        } else {
            self.plan(sys, now);
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        if sys.batched == Some(self.wires.number) {
            sys.batched = None;
        }
        *self = Self::new(self.wires);
        self.shared.inputs = Inputs::new((sys.pins.input() >> self.base) as u32);
        sys.cancel(self.wires.event);
        self.update_pins(sys);
        self.watch_pins(sys);
        // A block in reset makes no requests; the first write afterwards raises those of the TX FIFOs.
        let PioWires { irq, tx_dreq, rx_dreq, .. } = self.wires;
        for index in 0..MACHINES as u32 {
            sys.set_dreq(tx_dreq + index, false);
            sys.set_dreq(rx_dreq + index, false);
        }
        sys.set_irq(irq, false);
        sys.set_irq(irq + 1, false);
    }
}
