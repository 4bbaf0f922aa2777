//! PIO0 and PIO1: programmable IO (datasheet chapter 3).
//!
//! The state machines run ahead of time on a copy of the block's state until something outside would notice (a selected
//! pin, a DREQ or an interrupt line), and an event is scheduled for that moment. A register access or an input change
//! before it throws the copy away and catches up to the present, so all times are exact and a state machine that waits
//! costs nothing. Outputs change at the end of the cycle in which their instruction runs, and inputs pass the two
//! flip-flops of their synchronisers. The clock dividers' fractional periods are rounded down to a cycle.

mod state_machine;

use super::{Peripheral, Write};
use crate::pins::{PIN_MASK, function};
use crate::sys::{EventId, Sys, dreq, irq, watcher};
use crate::time::NEVER;
use state_machine::{Shared, StateMachine, fdebug};

const MACHINES: usize = 4;
const SYNCHRONISER_CYCLES: u64 = 2;
/// Cycles with activity that are run ahead at once.
const AHEAD: u32 = 256;
const CFGINFO: u32 = 32 << 16 | 4 << 8 | 4;
const FDEBUG_MASK: u32 = 0x0f0f_0f0f;
const INT_MASK: u32 = 0xfff;

/// Everything that running changes. All cycles before `cycle` have run.
#[derive(Clone, Copy, Debug)]
struct State {
    cycle: u64,
    machines: [StateMachine; MACHINES],
    irq: u32,
    out: u32,
    oe: u32,
    fdebug: u32,
    /// What the machines see, and what they will see from some cycle on.
    input: u32,
    coming: [(u64, u32); 4],
    coming_len: usize,
}

/// What the outside sees of a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Visible {
    out: u32,
    oe: u32,
    tx_room: u32,
    rx_data: u32,
    lines: [bool; 2],
}

/// What decides whether a change is visible.
#[derive(Clone, Copy, Debug)]
struct Mask {
    pins: u32,
    inte: [u32; 2],
    intf: [u32; 2],
}

impl State {
    fn new(cycle: u64) -> Self {
        Self {
            cycle,
            machines: std::array::from_fn(StateMachine::new),
            irq: 0,
            out: 0,
            oe: 0,
            fdebug: 0,
            input: 0,
            coming: [(0, 0); 4],
            coming_len: 0,
        }
    }

    fn gather(&self, flag: impl Fn(&StateMachine) -> bool) -> u32 {
        self.machines.iter().enumerate().fold(0, |bits, (i, machine)| bits | u32::from(flag(machine)) << i)
    }

    fn intr(&self) -> u32 {
        let rx_data = self.gather(|m| !m.rx.is_empty());
        let tx_room = self.gather(|m| !m.tx.is_full());
        rx_data | tx_room << 4 | (self.irq & 15) << 8
    }

    fn visible(&self, mask: &Mask) -> Visible {
        let intr = self.intr();
        Visible {
            out: self.out & mask.pins,
            oe: self.oe & mask.pins,
            tx_room: intr >> 4 & 15,
            rx_data: intr & 15,
            lines: std::array::from_fn(|line| (intr & mask.inte[line]) | mask.intf[line] != 0),
        }
    }

    /// Runs all cycles before `until`. With a limit it stops early, when something visible has changed or the limit of
    /// active cycles is reached, and returns true.
    fn run(&mut self, program: &[u16; 32], until: u64, limit: Option<(&Mask, u32)>) -> bool {
        let before = limit.map(|(mask, _)| self.visible(mask));
        let mut active = 0;
        loop {
            let mut at = until;
            for machine in &self.machines {
                if let Some(due) = machine.due() {
                    at = at.min(due.max(self.cycle));
                }
            }
            if self.coming_len > 0 {
                at = at.min(self.coming[0].0.max(self.cycle));
            }
            if at >= until {
                self.cycle = self.cycle.max(until);
                return false;
            }
            self.run_cycle(program, at);
            if let Some((mask, active_limit)) = limit {
                active += 1;
                if active >= active_limit || before != Some(self.visible(mask)) {
                    return true;
                }
            }
        }
    }

    fn run_cycle(&mut self, program: &[u16; 32], at: u64) {
        self.cycle = at;
        while self.coming_len > 0 && self.coming[0].0 <= at {
            self.input = self.coming[0].1;
            self.coming.copy_within(1.., 0);
            self.coming_len -= 1;
            self.wake();
        }
        self.with_shared(program, |machines, shared| {
            for machine in machines {
                if machine.due().is_some_and(|due| due <= at) {
                    machine.tick(shared);
                }
            }
        });
        self.cycle = at + 1;
        self.wake();
    }

    /// Lets machines act in one cycle: all see the flags as they were before it.
    fn with_shared(&mut self, program: &[u16; 32], act: impl FnOnce(&mut [StateMachine; MACHINES], &mut Shared)) {
        let mut shared = Shared {
            program,
            input: self.input,
            irq: self.irq,
            irq_set: 0,
            irq_clear: 0,
            out: self.out,
            oe: self.oe,
            fdebug: self.fdebug,
        };
        act(&mut self.machines, &mut shared);
        self.irq = (shared.irq & !shared.irq_clear) | shared.irq_set;
        (self.out, self.oe, self.fdebug) = (shared.out, shared.oe, shared.fdebug);
    }

    fn wake(&mut self) {
        for machine in &mut self.machines {
            machine.wake(self.cycle, self.input, self.irq);
        }
    }

    fn input_changed(&mut self, input: u32, bypass: u32) {
        self.input = (self.input & !bypass) | (input & bypass);
        let at = self.cycle + SYNCHRONISER_CYCLES;
        // Only the next two cycles can have changes on their way, so that the last place is never lost.
        if self.coming_len > 0 && (self.coming[self.coming_len - 1].0 >= at || self.coming_len == self.coming.len()) {
            self.coming[self.coming_len - 1].1 = input;
        } else {
            self.coming[self.coming_len] = (at, input);
            self.coming_len += 1;
        }
        self.wake();
    }
}

#[derive(Debug)]
pub struct Pio {
    index: usize,
    program: [u16; 32],
    state: State,
    /// The state at the next moment that something outside notices.
    ahead: Option<Box<State>>,
    input_sync_bypass: u32,
    inte: [u32; 2],
    intf: [u32; 2],
    /// Levels of the input buffers when last looked at.
    last_input: u32,
}

impl Pio {
    pub fn new(index: usize) -> Self {
        Self {
            index,
            program: [0; 32],
            state: State::new(0),
            ahead: None,
            input_sync_bypass: 0,
            inte: [0; 2],
            intf: [0; 2],
            last_input: 0,
        }
    }

    /// This block's event is due.
    pub fn event(&mut self, sys: &mut Sys) {
        self.catch_up(sys);
        self.finish(sys);
    }

    /// Levels at the input buffers changed (`sys.pins.input`), or the function of a pin.
    pub fn input_changed(&mut self, sys: &mut Sys) {
        let input = sys.pins.input();
        if !self.running() {
            self.last_input = input;
            self.state.input = input;
            self.state.coming_len = 0;
            return;
        }
        self.catch_up(sys);
        if input != self.last_input {
            self.last_input = input;
            self.state.input_changed(input, self.input_sync_bypass);
        }
        self.finish(sys);
    }

    /// clk_sys changed: cycles come at other times.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        if let Some(ahead) = &self.ahead {
            let at = sys.clock.ps_at(ahead.cycle);
            sys.schedule(self.id(), at);
        }
    }

    fn running(&self) -> bool {
        self.state.machines.iter().any(|machine| machine.enabled || machine.exec_stalled())
    }

    fn id(&self) -> EventId {
        [EventId::Pio0, EventId::Pio1][self.index]
    }

    fn function(&self) -> usize {
        [function::PIO0, function::PIO1][self.index]
    }

    /// Runs up to the present. The state that was run ahead stays valid, since it is where this leads.
    fn catch_up(&mut self, sys: &Sys) {
        let cycle = sys.clock.cycle_at(sys.now());
        if let Some(ahead) = self.ahead.take_if(|ahead| ahead.cycle <= cycle) {
            self.state = *ahead;
        }
        self.state.run(&self.program, cycle, None);
    }

    /// Shows the outside what has changed, and looks ahead from the present.
    fn finish(&mut self, sys: &mut Sys) {
        let mask = Mask { pins: sys.pins.function_mask[self.function()] & PIN_MASK, inte: self.inte, intf: self.intf };
        self.publish(sys, &mask);
        if !self.running() {
            self.ahead = None;
            sys.cancel(self.id());
            return;
        }
        let mut ahead = self.ahead.take().unwrap_or_else(|| Box::new(self.state));
        *ahead = self.state;
        if ahead.run(&self.program, u64::MAX, Some((&mask, AHEAD))) {
            let at = sys.clock.ps_at(ahead.cycle);
            self.ahead = Some(ahead);
            sys.schedule(self.id(), at);
        } else {
            sys.schedule(self.id(), NEVER);
        }
    }

    fn publish(&self, sys: &mut Sys, mask: &Mask) {
        let function = self.function();
        let pins = &mut sys.pins;
        if pins.function_out[function] != self.state.out || pins.function_oe[function] != self.state.oe {
            pins.function_out[function] = self.state.out;
            pins.function_oe[function] = self.state.oe;
            pins.refresh();
        }
        let visible = self.state.visible(mask);
        let (tx, rx) = [(dreq::PIO0_TX0, dreq::PIO0_RX0), (dreq::PIO1_TX0, dreq::PIO1_RX0)][self.index];
        for i in 0..MACHINES as u32 {
            sys.set_dreq(tx + i, visible.tx_room >> i & 1 != 0);
            sys.set_dreq(rx + i, visible.rx_data >> i & 1 != 0);
        }
        let line = [irq::PIO0_0, irq::PIO1_0][self.index];
        sys.set_irq(line, visible.lines[0]);
        sys.set_irq(line + 1, visible.lines[1]);
    }

    fn write_ctrl(&mut self, sys: &mut Sys, value: u32) {
        let cycle = self.state.cycle;
        for (i, machine) in self.state.machines.iter_mut().enumerate() {
            if value >> (4 + i) & 1 != 0 {
                machine.restart(cycle);
            }
            if value >> (8 + i) & 1 != 0 {
                machine.restart_divider(cycle);
            }
            machine.set_enabled(cycle, value >> i & 1 != 0);
        }
        let watched = if self.running() { PIN_MASK } else { 0 };
        sys.watch_pins([watcher::PIO0, watcher::PIO1][self.index], watched);
    }

    fn read_machine(&self, index: usize, register: u32) -> u32 {
        let machine = &self.state.machines[index];
        match register {
            0x00 => machine.clkdiv,
            0x04 => machine.execctrl | u32::from(machine.exec_stalled()) << 31,
            0x08 => machine.shiftctrl,
            0x0c => machine.pc,
            0x10 => u32::from(machine.current(&self.program)),
            _ => machine.pinctrl,
        }
    }

    fn write_machine(&mut self, index: usize, register: u32, write: Write) {
        let cycle = self.state.cycle;
        let machine = &mut self.state.machines[index];
        match register {
            0x00 => {
                let clkdiv = write.apply_masked(machine.clkdiv, 0xffff_ff00);
                machine.set_clkdiv(cycle, clkdiv);
            }
            0x04 => machine.execctrl = write.apply_masked(machine.execctrl, 0x7fff_ff9f),
            0x08 => {
                let shiftctrl = write.apply_masked(machine.shiftctrl, 0xffff_0000);
                machine.set_shiftctrl(shiftctrl);
            }
            0x10 => {
                let opcode = write.apply(u32::from(machine.current(&self.program))) as u16;
                self.state.with_shared(&self.program, |machines, shared| machines[index].force(cycle, opcode, shared));
            }
            0x14 => machine.pinctrl = write.apply(machine.pinctrl),
            _ => {}
        }
    }
}

impl Peripheral for Pio {
    fn name(&self) -> &'static str {
        ["PIO0", "PIO1"][self.index]
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.catch_up(sys);
        let state = &mut self.state;
        match offset {
            0x000 => state.gather(|m| m.enabled),
            0x004 => {
                state.gather(|m| m.rx.is_full())
                    | state.gather(|m| m.rx.is_empty()) << 8
                    | state.gather(|m| m.tx.is_full()) << 16
                    | state.gather(|m| m.tx.is_empty()) << 24
            }
            0x008 => state.fdebug,
            0x00c => state
                .machines
                .iter()
                .enumerate()
                .fold(0, |levels, (i, m)| levels | (m.tx.len() as u32 | (m.rx.len() as u32) << 4) << (8 * i)),
            0x020..=0x02c => {
                let index = ((offset - 0x020) / 4) as usize;
                let word = state.machines[index].rx.pop();
                if word.is_none() {
                    state.fdebug |= fdebug::RXUNDER << index;
                }
                state.wake();
                self.finish(sys);
                word.unwrap_or(0)
            }
            0x030 => state.irq,
            0x038 => self.input_sync_bypass,
            0x03c => state.out,
            0x040 => state.oe,
            0x044 => CFGINFO,
            0x0c8..=0x124 => self.read_machine(((offset - 0x0c8) / 0x18) as usize, (offset - 0x0c8) % 0x18),
            0x128 => state.intr(),
            0x12c | 0x138 => self.inte[usize::from(offset == 0x138)],
            0x130 | 0x13c => self.intf[usize::from(offset == 0x13c)],
            0x134 => (state.intr() & self.inte[0]) | self.intf[0],
            0x140 => (state.intr() & self.inte[1]) | self.intf[1],
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.catch_up(sys);
        let state = &mut self.state;
        match offset {
            0x000 => {
                let enabled = state.gather(|m| m.enabled);
                self.write_ctrl(sys, write.apply(enabled));
            }
            0x008 => state.fdebug &= !(write.ones() & FDEBUG_MASK),
            0x010..=0x01c => {
                let index = ((offset - 0x010) / 4) as usize;
                if !state.machines[index].write_tx(write.bits) {
                    state.fdebug |= fdebug::TXOVER << index;
                }
            }
            0x030 => state.irq &= !(write.ones() & 0xff),
            0x034 => state.irq |= write.bits & 0xff,
            0x038 => self.input_sync_bypass = write.apply(self.input_sync_bypass),
            0x048..=0x0c4 => {
                let instruction = &mut self.program[((offset - 0x048) / 4) as usize];
                // Write-only: the aliases act on 0.
                *instruction = write.apply(0) as u16;
            }
            0x0c8..=0x124 => self.write_machine(((offset - 0x0c8) / 0x18) as usize, (offset - 0x0c8) % 0x18, write),
            0x12c | 0x138 => {
                let inte = &mut self.inte[usize::from(offset == 0x138)];
                *inte = write.apply_masked(*inte, INT_MASK);
            }
            0x130 | 0x13c => {
                let intf = &mut self.intf[usize::from(offset == 0x13c)];
                *intf = write.apply_masked(*intf, INT_MASK);
            }
            _ => {}
        }
        let cycle = self.state.cycle;
        for machine in &mut self.state.machines {
            // Any register may be what an instruction waits for.
            machine.retry(cycle);
        }
        self.finish(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        let cycle = sys.clock.cycle_at(sys.now());
        let input = sys.pins.input();
        *self = Self { state: State { input, ..State::new(cycle) }, last_input: input, ..Self::new(self.index) };
        sys.watch_pins([watcher::PIO0, watcher::PIO1][self.index], 0);
        self.finish(sys);
        // A block in reset requests nothing, although its FIFOs have room.
        let tx = [dreq::PIO0_TX0, dreq::PIO1_TX0][self.index];
        for i in 0..MACHINES as u32 {
            sys.set_dreq(tx + i, false);
        }
    }
}

#[cfg(test)]
mod tests;
