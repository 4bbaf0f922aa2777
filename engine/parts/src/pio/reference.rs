//! A second PIO, written from the datasheet alone: every state machine in every cycle, nothing lazy, nothing shared
//! with the model. Random programs must behave equally on both.

use std::collections::VecDeque;

#[derive(Default)]
pub(crate) struct Sm {
    pub(crate) clkdiv: u32,
    pub(crate) execctrl: u32,
    pub(crate) shiftctrl: u32,
    pub(crate) pinctrl: u32,
    enabled: bool,
    countdown: u32,
    fraction: u32,
    pub(crate) pc: u32,
    pub(crate) x: u32,
    y: u32,
    isr: u32,
    osr: u32,
    isr_count: u32,
    osr_count: u32,
    delay: u32,
    waiting: bool,
    exec: Option<u16>,
    pub(crate) forced: Option<u16>,
    forced_waiting: bool,
    pub(crate) tx: VecDeque<u32>,
    pub(crate) rx: VecDeque<u32>,
    sticky: [(u32, u32); 2],
}

pub(crate) struct Reference {
    pub(crate) memory: [u16; 32],
    pub(crate) sm: [Sm; 4],
    pub(crate) irq: u8,
    pub(crate) out: u32,
    pub(crate) oe: u32,
    pub(crate) fdebug: u32,
    pub(crate) bypass: u32,
    /// Pad levels during the last cycles, the newest last.
    pads: [u32; 4],
}

#[derive(PartialEq)]
enum Did {
    Next,
    Jump(u32),
    Exec(u16),
    Stall,
}

fn ones(count: u32) -> u32 {
    ((1u64 << count) - 1) as u32
}

fn spread(data: u32, base: u32, count: u32) -> (u32, u32) {
    let (mut mask, mut value) = (0, 0);
    for bit in 0..count {
        let pin = (base + bit) % 32;
        mask |= 1 << pin;
        value |= ((data >> bit) & 1) << pin;
    }
    (mask, value)
}

fn or_32(n: u32) -> u32 {
    if n == 0 { 32 } else { n }
}

/// External writes of one instruction.
#[derive(Default)]
struct Out {
    pins: [Option<(u32, u32)>; 2],
    side: [(u32, u32); 2],
    set: u8,
    clear: u8,
    fdebug: u32,
}

impl Sm {
    fn depth(&self, rx: bool) -> usize {
        match (self.shiftctrl >> 30) & 3 {
            0 => 4,
            1 => [8, 0][usize::from(rx)],
            2 => [0, 8][usize::from(rx)],
            _ => 0,
        }
    }

    pub(crate) fn tx_full(&self) -> bool {
        self.tx.len() >= self.depth(false)
    }

    pub(crate) fn rx_full(&self) -> bool {
        self.rx.len() >= self.depth(true)
    }

    fn autopull(&self) -> bool {
        self.shiftctrl & 0x20000 != 0
    }

    fn pull_threshold(&self) -> u32 {
        or_32((self.shiftctrl >> 25) & 31)
    }

    fn push_threshold(&self) -> u32 {
        or_32((self.shiftctrl >> 20) & 31)
    }

    fn clock_enable(&mut self) -> bool {
        self.countdown -= 1;
        if self.countdown > 0 {
            return false;
        }
        let int = self.clkdiv >> 16;
        self.fraction += if int == 0 { 0 } else { (self.clkdiv >> 8) & 255 };
        self.countdown = if int == 0 { 65536 } else { int } + self.fraction / 256;
        self.fraction %= 256;
        true
    }

    fn restart_clock(&mut self) {
        self.countdown = match self.clkdiv >> 16 {
            0 => 65536,
            int => int,
        };
        self.fraction = 0;
    }

    fn try_refill(&mut self) {
        if self.autopull()
            && self.osr_count >= self.pull_threshold()
            && let Some(word) = self.tx.pop_front()
        {
            self.osr = word;
            self.osr_count = 0;
        }
    }

    fn sideset(&self, i: u16, o: &mut Out) {
        let field = u32::from(i >> 8) & 31;
        let count = (self.pinctrl >> 29).min(5);
        let mut data_bits = count;
        if count > 0 && self.execctrl & (1 << 30) != 0 {
            if field & 16 == 0 {
                return;
            }
            data_bits -= 1;
        }
        let kind = usize::from(self.execctrl & (1 << 29) != 0);
        o.side[kind] = spread(field >> (5 - count), (self.pinctrl >> 10) & 31, data_bits);
    }

    fn delay_of(&self, i: u16) -> u32 {
        (u32::from(i >> 8) & 31) & ones(5 - (self.pinctrl >> 29).min(5))
    }

    fn write_out(&self, data: u32) -> (u32, u32) {
        if self.execctrl & (1 << 18) != 0 && (data >> ((self.execctrl >> 19) & 31)) & 1 == 0 {
            return (0, 0);
        }
        spread(data, self.pinctrl & 31, ((self.pinctrl >> 20) & 63).min(32))
    }

    fn run(&mut self, n: u32, i: u16, waiting: bool, irq: u8, level: u32, o: &mut Out) -> Did {
        let a = u32::from(i >> 5) & 7;
        let low = u32::from(i) & 31;
        let in_pins = level.rotate_right((self.pinctrl >> 15) & 31);
        let flag = 1u8 << if low & 16 != 0 { (low & 4) | ((low + n) % 4) } else { low & 7 };
        match i >> 13 {
            0 => {
                let taken = match a {
                    0 => true,
                    1 => self.x == 0,
                    2 => {
                        self.x = self.x.wrapping_sub(1);
                        self.x != u32::MAX
                    }
                    3 => self.y == 0,
                    4 => {
                        self.y = self.y.wrapping_sub(1);
                        self.y != u32::MAX
                    }
                    5 => self.x != self.y,
                    6 => level & (1 << ((self.execctrl >> 24) & 31)) != 0,
                    _ => self.osr_count < self.pull_threshold(),
                };
                if taken { Did::Jump(low) } else { Did::Next }
            }
            1 => {
                let now = match a & 3 {
                    0 => level & (1 << low) != 0,
                    1 => in_pins & (1 << low) != 0,
                    2 => irq & flag != 0,
                    _ => false,
                };
                if now != (a & 4 != 0) {
                    return Did::Stall;
                }
                if a == 6 {
                    o.clear |= flag;
                }
                Did::Next
            }
            2 => {
                let n = or_32(low);
                let data = match a {
                    0 => in_pins,
                    1 => self.x,
                    2 => self.y,
                    6 => self.isr,
                    7 => self.osr,
                    _ => 0,
                } & ones(n);
                let isr = if self.shiftctrl & (1 << 18) != 0 {
                    ((u64::from(self.isr) >> n) | (u64::from(data) << (32 - n))) as u32
                } else {
                    ((u64::from(self.isr) << n) | u64::from(data)) as u32
                };
                let count = (self.isr_count + n).min(32);
                if self.shiftctrl & 0x10000 != 0 && count >= self.push_threshold() {
                    if self.rx_full() {
                        o.fdebug |= 1;
                        return Did::Stall;
                    }
                    self.rx.push_back(isr);
                    (self.isr, self.isr_count) = (0, 0);
                } else {
                    (self.isr, self.isr_count) = (isr, count);
                }
                Did::Next
            }
            3 => {
                if self.autopull() && self.osr_count >= self.pull_threshold() {
                    if self.tx.is_empty() {
                        o.fdebug |= 1 << 24;
                    }
                    self.try_refill();
                    return Did::Stall;
                }
                let n = or_32(low);
                let data = if self.shiftctrl & (1 << 19) != 0 {
                    let data = self.osr & ones(n);
                    self.osr = (u64::from(self.osr) >> n) as u32;
                    data
                } else {
                    let data = (u64::from(self.osr) >> (32 - n)) as u32;
                    self.osr = (u64::from(self.osr) << n) as u32;
                    data
                };
                self.osr_count = (self.osr_count + n).min(32);
                self.try_refill();
                match a {
                    0 => o.pins[0] = Some(self.write_out(data)),
                    1 => self.x = data,
                    2 => self.y = data,
                    4 => o.pins[1] = Some(self.write_out(data)),
                    5 => return Did::Jump(data & 31),
                    6 => (self.isr, self.isr_count) = (data, n),
                    7 => return Did::Exec(data as u16),
                    _ => {}
                }
                Did::Next
            }
            4 if a & 4 == 0 => {
                if a & 2 != 0 && self.isr_count < self.push_threshold() {
                    return Did::Next;
                }
                if self.rx_full() {
                    o.fdebug |= 1;
                    if a & 1 != 0 {
                        return Did::Stall;
                    }
                } else {
                    self.rx.push_back(self.isr);
                }
                (self.isr, self.isr_count) = (0, 0);
                Did::Next
            }
            4 => {
                let not_empty = a & 2 != 0 && self.osr_count < self.pull_threshold();
                if not_empty || (self.autopull() && self.osr_count == 0) {
                    return Did::Next;
                }
                match self.tx.pop_front() {
                    Some(word) => self.osr = word,
                    None if a & 1 != 0 => {
                        o.fdebug |= 1 << 24;
                        return Did::Stall;
                    }
                    None => self.osr = self.x,
                }
                self.osr_count = 0;
                Did::Next
            }
            5 => {
                let n = ((self.execctrl & 15) as usize, self.execctrl & 16 != 0);
                let value = match i & 7 {
                    0 => in_pins,
                    1 => self.x,
                    2 => self.y,
                    5 if (if n.1 { self.rx.len() } else { self.tx.len() }) < n.0 => !0,
                    6 => self.isr,
                    7 => self.osr,
                    _ => 0,
                };
                let value = match (i >> 3) & 3 {
                    1 => !value,
                    2 => (0..32).fold(0, |r, bit| r | (((value >> bit) & 1) << (31 - bit))),
                    _ => value,
                };
                match a {
                    0 => o.pins[0] = Some(self.write_out(value)),
                    1 => self.x = value,
                    2 => self.y = value,
                    4 => return Did::Exec(value as u16),
                    5 => return Did::Jump(value & 31),
                    6 => (self.isr, self.isr_count) = (value, 0),
                    7 => (self.osr, self.osr_count) = (value, 0),
                    _ => {}
                }
                Did::Next
            }
            6 => {
                if a & 2 != 0 {
                    o.clear |= flag;
                } else if !waiting {
                    o.set |= flag;
                    if a & 1 != 0 {
                        return Did::Stall;
                    }
                } else if irq & flag != 0 {
                    return Did::Stall;
                }
                Did::Next
            }
            _ => {
                let set = spread(low, (self.pinctrl >> 5) & 31, ((self.pinctrl >> 26) & 7).min(5));
                match a {
                    0 => o.pins[0] = Some(set),
                    1 => self.x = low,
                    2 => self.y = low,
                    4 => o.pins[1] = Some(set),
                    _ => {}
                }
                Did::Next
            }
        }
    }

    /// Executes one cycle of clk_sys.
    fn cycle(&mut self, n: u32, memory: &[u16; 32], irq: u8, level: u32) -> Out {
        let mut o = Out::default();
        let ticks = self.clock_enable() && self.enabled;
        let mut may_refill = ticks && self.autopull() && self.osr_count >= self.pull_threshold();
        let mut program_runs = ticks;
        if ticks && self.delay > 0 {
            self.delay -= 1;
            program_runs = false;
        }
        if let Some(i) = self.forced {
            if !self.forced_waiting {
                self.sideset(i, &mut o);
            }
            let did = self.run(n, i, self.forced_waiting, irq, level, &mut o);
            self.forced_waiting = did == Did::Stall;
            if did != Did::Stall {
                self.forced = None;
            }
            match did {
                Did::Jump(pc) => {
                    self.pc = pc;
                    self.waiting = false;
                }
                Did::Exec(i) => {
                    self.exec = Some(i);
                    self.waiting = false;
                }
                _ => {}
            }
        } else if program_runs {
            let i = self.exec.unwrap_or(memory[self.pc as usize]);
            may_refill &= !matches!((i >> 13, (i >> 5) & 7), (3, _) | (4, 4..) | (5, 7));
            if !self.waiting {
                self.sideset(i, &mut o);
            }
            let did = self.run(n, i, self.waiting, irq, level, &mut o);
            self.waiting = did == Did::Stall;
            if did != Did::Stall {
                let from_memory = self.exec.take().is_none();
                self.delay = self.delay_of(i);
                match did {
                    Did::Jump(pc) => self.pc = pc,
                    _ if !from_memory => {}
                    _ if self.pc == (self.execctrl >> 12) & 31 => self.pc = (self.execctrl >> 7) & 31,
                    _ => self.pc = (self.pc + 1) % 32,
                }
                if let Did::Exec(i) = did {
                    self.exec = Some(i);
                    self.delay = 0;
                }
            }
        }
        if may_refill {
            self.try_refill();
        }
        o
    }
}

impl Reference {
    pub(crate) fn new() -> Self {
        let sm = [(); 4].map(|()| Sm {
            clkdiv: 0x10000,
            execctrl: 0x1f000,
            shiftctrl: 0xc0000,
            pinctrl: 0x1400_0000,
            countdown: 1,
            osr_count: 32,
            ..Sm::default()
        });
        Self { memory: [0; 32], sm, irq: 0, out: 0, oe: 0, fdebug: 0, bypass: 0, pads: [0; 4] }
    }

    /// Executes the next cycle; `world` holds the levels of pins that PIO does not drive.
    pub(crate) fn cycle(&mut self, world: u32) {
        let level = (self.pads[0] & !self.bypass) | (self.pads[2] & self.bypass);
        let (mut out, mut oe) = (self.out, self.oe);
        let (mut set, mut clear) = (0, 0);
        for (n, sm) in self.sm.iter_mut().enumerate() {
            let held = sm.sticky;
            let o = sm.cycle(n as u32, &self.memory, self.irq, level);
            set |= o.set;
            clear |= o.clear;
            self.fdebug |= o.fdebug << n;
            for (kind, word) in [&mut out, &mut oe].into_iter().enumerate() {
                let (mask, value) = o.pins[kind].unwrap_or(held[kind]);
                *word = (*word & !mask) | value;
                let (mask, value) = o.side[kind];
                *word = (*word & !mask) | value;
                if let Some(write) = o.pins[kind] {
                    sm.sticky[kind] = if sm.execctrl & (1 << 17) != 0 { write } else { (0, 0) };
                }
            }
        }
        self.irq = (self.irq & !clear) | set;
        (self.out, self.oe) = (out, oe);
        self.pads.rotate_left(1);
        self.drive(world);
    }

    /// Sets the levels driven by the world.
    pub(crate) fn drive(&mut self, world: u32) {
        self.pads[3] = ((self.out & self.oe) | (world & !self.oe)) & 0x3fff_ffff;
    }

    pub(crate) fn ctrl(&mut self, bits: u32) {
        for (n, sm) in self.sm.iter_mut().enumerate() {
            if bits & (0x10 << n) != 0 {
                (sm.isr, sm.isr_count, sm.osr_count, sm.delay) = (0, 0, 32, 0);
                (sm.waiting, sm.exec, sm.forced, sm.forced_waiting) = (false, None, None, false);
                sm.sticky = [(0, 0); 2];
            }
            if bits & (0x100 << n) != 0 {
                sm.restart_clock();
            }
            sm.enabled = bits & (1 << n) != 0;
        }
    }

    pub(crate) fn set_shiftctrl(&mut self, n: usize, value: u32) {
        let sm = &mut self.sm[n];
        if (sm.shiftctrl ^ value) >> 30 != 0 {
            sm.tx.clear();
            sm.rx.clear();
        }
        sm.shiftctrl = value & 0xffff_0000;
    }

    pub(crate) fn set_execctrl(&mut self, n: usize, value: u32) {
        self.sm[n].execctrl = value & 0x7fff_ff9f;
        if value & (1 << 17) == 0 {
            self.sm[n].sticky = [(0, 0); 2];
        }
    }

    pub(crate) fn write_memory(&mut self, address: u32, i: u16) {
        if self.memory[address as usize] != i {
            self.memory[address as usize] = i;
            for sm in self.sm.iter_mut().filter(|sm| sm.pc == address && sm.exec.is_none()) {
                sm.waiting = false;
            }
        }
    }

    pub(crate) fn force(&mut self, n: usize, i: u16) {
        self.sm[n].forced = Some(i);
        self.sm[n].forced_waiting = false;
    }

    pub(crate) fn push(&mut self, n: usize, word: u32) {
        if self.sm[n].tx_full() {
            self.fdebug |= 0x10000 << n;
        } else {
            self.sm[n].tx.push_back(word);
        }
    }

    pub(crate) fn pop(&mut self, n: usize) -> u32 {
        self.sm[n].rx.pop_front().unwrap_or_else(|| {
            self.fdebug |= 0x100 << n;
            0
        })
    }
}
