//! One PIO state machine: its registers, FIFOs and instruction set (datasheet 3.4 and 3.5).

/// A FIFO of 4 words, or of 8 or none when joined.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    words: [u32; 8],
    head: usize,
    len: usize,
    depth: usize,
}

impl Fifo {
    pub fn new(depth: usize) -> Self {
        Self { words: [0; 8], head: 0, len: 0, depth }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn is_full(&self) -> bool {
        self.len >= self.depth
    }

    /// False if there is no room.
    pub fn push(&mut self, word: u32) -> bool {
        if self.is_full() {
            return false;
        }
        self.words[(self.head + self.len) % 8] = word;
        self.len += 1;
        true
    }

    pub fn pop(&mut self) -> Option<u32> {
        let word = (self.len > 0).then_some(self.words[self.head])?;
        self.head = (self.head + 1) % 8;
        self.len -= 1;
        Some(word)
    }
}

mod execctrl {
    pub const STATUS_SEL: u32 = 1 << 4;
    pub const OUT_STICKY: u32 = 1 << 17;
    pub const INLINE_OUT_EN: u32 = 1 << 18;
    pub const SIDE_PINDIR: u32 = 1 << 29;
    pub const SIDE_EN: u32 = 1 << 30;
}

pub mod shiftctrl {
    pub const AUTOPUSH: u32 = 1 << 16;
    pub const AUTOPULL: u32 = 1 << 17;
    pub const IN_SHIFTDIR: u32 = 1 << 18;
    pub const OUT_SHIFTDIR: u32 = 1 << 19;
    pub const FJOIN_TX: u32 = 1 << 30;
    pub const FJOIN_RX: u32 = 1 << 31;
}

/// FDEBUG bits of state machine 0.
pub mod fdebug {
    pub const RXSTALL: u32 = 1 << 0;
    pub const RXUNDER: u32 = 1 << 8;
    pub const TXOVER: u32 = 1 << 16;
    pub const TXSTALL: u32 = 1 << 24;
}

/// What a state machine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    Input { pin: u32, level: bool },
    Irq { flag: u32, level: bool },
    TxData,
    RxRoom,
}

/// An instruction that does not come from the program.
#[derive(Clone, Copy, Debug)]
pub struct Injected {
    opcode: u16,
    /// Written to SMx_INSTR: runs at once, also in a disabled state machine.
    forced: bool,
}

/// What the state machines of a block share during one cycle.
pub struct Shared<'a> {
    pub program: &'a [u16; 32],
    pub input: u32,
    /// IRQ flags at the start of the cycle, and what the cycle does to them.
    pub irq: u32,
    pub irq_set: u32,
    pub irq_clear: u32,
    pub out: u32,
    pub oe: u32,
    pub fdebug: u32,
}

enum Outcome {
    Next,
    Jumped,
    Stalled(Stall),
    /// The OSR was refilled; the instruction runs again at the next tick.
    Again,
}

/// Times are in 256ths of a cycle of clk_sys, as the clock dividers count.
#[derive(Clone, Copy, Debug)]
pub struct StateMachine {
    index: usize,
    pub enabled: bool,
    pub clkdiv: u32,
    pub execctrl: u32,
    pub shiftctrl: u32,
    pub pinctrl: u32,
    pub pc: u32,
    pub x: u32,
    pub y: u32,
    isr: u32,
    isr_count: u32,
    osr: u32,
    osr_count: u32,
    pub tx: Fifo,
    pub rx: Fifo,
    injected: Option<Injected>,
    /// The current IRQ instruction has set its flag and waits for it to be cleared.
    irq_waiting: bool,
    /// Most recent pin write under OUT_STICKY: values and mask.
    sticky: Option<(u32, u32)>,
    stall: Option<Stall>,
    /// Tick of the clock divider at which the next instruction runs.
    next: u64,
    /// Some tick of the clock divider.
    anchor: u64,
}

impl StateMachine {
    pub fn new(index: usize) -> Self {
        Self {
            index,
            enabled: false,
            clkdiv: 0x0001_0000,
            execctrl: 0x0001_f000,
            shiftctrl: 0x000c_0000,
            pinctrl: 0x1400_0000,
            pc: 0,
            x: 0,
            y: 0,
            isr: 0,
            isr_count: 0,
            osr: 0,
            osr_count: 32,
            tx: Fifo::new(4),
            rx: Fifo::new(4),
            injected: None,
            irq_waiting: false,
            sticky: None,
            stall: None,
            next: 0,
            anchor: 0,
        }
    }

    /// Divider in 256ths; an integer part of 0 means 65536.
    fn divider(&self) -> u64 {
        if self.clkdiv >> 16 == 0 { 65536 << 8 } else { u64::from(self.clkdiv >> 8) }
    }

    fn tick_from(&self, cycle: u64) -> u64 {
        let time = cycle << 8;
        if self.anchor >= time {
            return self.anchor;
        }
        self.anchor + (time - self.anchor).div_ceil(self.divider()) * self.divider()
    }

    /// Cycle at which this machine has something to do.
    pub fn due(&self) -> Option<u64> {
        let forced = self.injected.is_some_and(|injected| injected.forced);
        (self.stall.is_none() && (self.enabled || forced)).then_some(self.next >> 8)
    }

    /// Whether an instruction written to SMx_INSTR still waits.
    pub fn exec_stalled(&self) -> bool {
        self.injected.is_some_and(|injected| injected.forced)
    }

    /// The instruction that runs or waits.
    pub fn current(&self, program: &[u16; 32]) -> u16 {
        self.injected.map_or(program[self.pc as usize], |injected| injected.opcode)
    }

    /// Something outside changed: a waiting instruction tries again.
    pub fn retry(&mut self, cycle: u64) {
        if self.stall.take().is_some() {
            self.next = if self.exec_stalled() { cycle << 8 } else { self.tick_from(cycle) };
        }
    }

    /// Wakes the machine for `cycle` if what it waits for has come.
    pub fn wake(&mut self, cycle: u64, input: u32, irq: u32) {
        let ready = match self.stall {
            None => return,
            Some(Stall::Input { pin, level }) => (input >> pin & 1 != 0) == level,
            Some(Stall::Irq { flag, level }) => (irq >> flag & 1 != 0) == level,
            Some(Stall::TxData) => !self.tx.is_empty(),
            Some(Stall::RxRoom) => !self.rx.is_full(),
        };
        if ready {
            self.retry(cycle);
        }
    }

    pub fn set_enabled(&mut self, cycle: u64, enabled: bool) {
        if enabled && !self.enabled {
            self.stall = None;
            self.next = self.tick_from(cycle);
        }
        self.enabled = enabled;
    }

    /// CTRL.SM_RESTART.
    pub fn restart(&mut self, cycle: u64) {
        self.isr = 0;
        self.isr_count = 0;
        self.osr_count = 32;
        self.injected = None;
        self.irq_waiting = false;
        self.sticky = None;
        self.stall = None;
        self.next = self.tick_from(cycle);
    }

    /// CTRL.CLKDIV_RESTART: the divider's next tick is now.
    pub fn restart_divider(&mut self, cycle: u64) {
        let ticks_left = self.next.saturating_sub(cycle << 8) / self.divider();
        self.anchor = cycle << 8;
        self.next = self.anchor + ticks_left * self.divider();
    }

    pub fn set_clkdiv(&mut self, cycle: u64, clkdiv: u32) {
        self.anchor = self.tick_from(cycle);
        self.clkdiv = clkdiv;
    }

    /// Joining or parting the FIFOs empties them.
    pub fn set_shiftctrl(&mut self, shiftctrl: u32) {
        let joined = shiftctrl & (shiftctrl::FJOIN_TX | shiftctrl::FJOIN_RX);
        if joined != self.shiftctrl & (shiftctrl::FJOIN_TX | shiftctrl::FJOIN_RX) {
            let (tx, rx) = match (joined & shiftctrl::FJOIN_TX != 0, joined & shiftctrl::FJOIN_RX != 0) {
                (false, false) => (4, 4),
                (true, false) => (8, 0),
                (false, true) => (0, 8),
                (true, true) => (0, 0),
            };
            self.tx = Fifo::new(tx);
            self.rx = Fifo::new(rx);
        }
        self.shiftctrl = shiftctrl;
    }

    /// The system wrote a word; false if the FIFO is full. An empty OSR takes it under autopull (at once instead of at
    /// the next tick), unless an OUT waits for it, which takes a tick of its own.
    pub fn write_tx(&mut self, word: u32) -> bool {
        let taken = self.tx.push(word);
        if self.enabled && self.stall != Some(Stall::TxData) {
            self.refill();
        }
        taken
    }

    fn refill(&mut self) {
        if self.shiftctrl & shiftctrl::AUTOPULL != 0
            && self.osr_count >= self.pull_threshold()
            && let Some(word) = self.tx.pop()
        {
            self.osr = word;
            self.osr_count = 0;
        }
    }

    /// Runs `opcode` as written to SMx_INSTR at `cycle`.
    pub fn force(&mut self, cycle: u64, opcode: u16, shared: &mut Shared) {
        let pc = self.pc;
        self.injected = Some(Injected { opcode, forced: true });
        self.stall = None;
        self.next = cycle << 8;
        self.tick(shared);
        if self.stall.is_none() {
            self.next = self.next.max(self.tick_from(cycle));
            // A jump takes the machine away from an IRQ instruction that waits.
            self.irq_waiting &= self.pc == pc;
        }
    }

    /// One tick of the machine's clock at [`Self::due`].
    pub fn tick(&mut self, shared: &mut Shared) {
        let injected = self.injected.take();
        let opcode = injected.map_or(shared.program[self.pc as usize], |injected| injected.opcode);
        let forced = injected.is_some_and(|injected| injected.forced);
        if self.execctrl & execctrl::OUT_STICKY != 0
            && let Some((values, mask)) = self.sticky
        {
            shared.out = (shared.out & !mask) | values;
        }
        let outcome = self.execute(opcode, shared);
        let delay = self.side_set(opcode, shared);
        // The delay of an instruction that injects another is ignored.
        let delay = if self.injected.is_some() { 0 } else { delay };
        let at = self.next;
        if !forced {
            self.anchor = at;
        }
        match outcome {
            Outcome::Stalled(stall) => {
                self.injected = injected;
                self.stall = Some(stall);
                return;
            }
            Outcome::Again => {
                self.injected = injected;
                self.next = if forced { at + 256 } else { at + self.divider() };
                return;
            }
            Outcome::Next if injected.is_none() => {
                let wrap_top = self.execctrl >> 12 & 31;
                self.pc = if self.pc == wrap_top { self.execctrl >> 7 & 31 } else { (self.pc + 1) & 31 };
            }
            Outcome::Next | Outcome::Jumped => {}
        }
        self.refill();
        let first = if forced { self.tick_from((at >> 8) + 1) } else { at + self.divider() };
        self.next = first + u64::from(delay) * self.divider();
    }

    fn pull_threshold(&self) -> u32 {
        match self.shiftctrl >> 25 & 31 {
            0 => 32,
            bits => bits,
        }
    }

    fn push_threshold(&self) -> u32 {
        match self.shiftctrl >> 20 & 31 {
            0 => 32,
            bits => bits,
        }
    }

    /// Applies the side-set of `opcode` and returns its delay.
    fn side_set(&self, opcode: u16, shared: &mut Shared) -> u32 {
        let field = u32::from(opcode >> 8) & 31;
        let bits = (self.pinctrl >> 29).min(5);
        let delay = field & ((1 << (5 - bits)) - 1);
        let value = field >> (5 - bits);
        let optional = self.execctrl & execctrl::SIDE_EN != 0;
        let pins = if optional { bits.saturating_sub(1) } else { bits };
        if pins > 0 && (!optional || value >> pins & 1 != 0) {
            let (values, mask) = map(value, self.pinctrl >> 10, pins);
            let target = if self.execctrl & execctrl::SIDE_PINDIR != 0 { &mut shared.oe } else { &mut shared.out };
            *target = (*target & !mask) | values;
        }
        delay
    }

    fn in_pins(&self, shared: &Shared) -> u32 {
        shared.input.rotate_right(self.pinctrl >> 15 & 31)
    }

    fn status(&self) -> u32 {
        let level = if self.execctrl & execctrl::STATUS_SEL != 0 { self.rx.len() } else { self.tx.len() };
        if (level as u32) < self.execctrl & 15 { u32::MAX } else { 0 }
    }

    /// Source of IN and MOV.
    fn source(&self, source: u32, shared: &Shared) -> u32 {
        match source {
            0 => self.in_pins(shared),
            1 => self.x,
            2 => self.y,
            5 => self.status(),
            6 => self.isr,
            7 => self.osr,
            _ => 0,
        }
    }

    fn irq_flag(&self, index: u32) -> u32 {
        if index & 0x10 != 0 { (index & 4) | ((index + self.index as u32) & 3) } else { index & 7 }
    }

    fn write_pins(&mut self, value: u32, base: u32, count: u32, shared: &mut Shared) {
        let (values, mask) = map(value, base, count);
        shared.out = (shared.out & !mask) | values;
        self.sticky = Some((values, mask));
    }

    fn write_dirs(&self, value: u32, base: u32, count: u32, shared: &mut Shared) {
        let (values, mask) = map(value, base, count);
        shared.oe = (shared.oe & !mask) | values;
    }

    fn out_count(&self) -> u32 {
        (self.pinctrl >> 20 & 63).min(32)
    }

    fn execute(&mut self, opcode: u16, shared: &mut Shared) -> Outcome {
        let argument = u32::from(opcode) & 0xff;
        match opcode >> 13 {
            0 => self.jmp(argument, shared),
            1 => self.wait(argument, shared),
            2 => self.shift_in(argument, shared),
            3 => self.shift_out(argument, shared),
            4 => self.push_pull(argument, shared),
            5 => self.mov(argument, shared),
            6 => self.irq(argument, shared),
            _ => self.set(argument, shared),
        }
    }

    fn jmp(&mut self, argument: u32, shared: &Shared) -> Outcome {
        let taken = match argument >> 5 {
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
            6 => shared.input >> (self.execctrl >> 24 & 31) & 1 != 0,
            _ => self.osr_count < self.pull_threshold(),
        };
        if !taken {
            return Outcome::Next;
        }
        self.pc = argument & 31;
        Outcome::Jumped
    }

    fn wait(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        let level = argument & 0x80 != 0;
        let index = argument & 31;
        let (stall, met) = match argument >> 5 & 3 {
            2 => {
                let flag = self.irq_flag(index);
                let met = (shared.irq >> flag & 1 != 0) == level;
                if met && level {
                    shared.irq_clear |= 1 << flag;
                }
                (Stall::Irq { flag, level }, met)
            }
            3 => return Outcome::Next,
            source => {
                let pin = if source == 1 { (index + (self.pinctrl >> 15 & 31)) & 31 } else { index };
                (Stall::Input { pin, level }, (shared.input >> pin & 1 != 0) == level)
            }
        };
        if met { Outcome::Next } else { Outcome::Stalled(stall) }
    }

    fn shift_in(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        let bits = if argument & 31 == 0 { 32 } else { argument & 31 };
        let count = (self.isr_count + bits).min(32);
        let push = self.shiftctrl & shiftctrl::AUTOPUSH != 0 && count >= self.push_threshold();
        if push && self.rx.is_full() {
            shared.fdebug |= fdebug::RXSTALL << self.index;
            return Outcome::Stalled(Stall::RxRoom);
        }
        let value = self.source(argument >> 5, shared) & ones(bits);
        self.isr = match (bits, self.shiftctrl & shiftctrl::IN_SHIFTDIR != 0) {
            (32, _) => value,
            (_, true) => self.isr >> bits | value << (32 - bits),
            (_, false) => self.isr << bits | value,
        };
        self.isr_count = count;
        if push {
            self.rx.push(self.isr);
            self.isr = 0;
            self.isr_count = 0;
        }
        Outcome::Next
    }

    fn shift_out(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        if self.shiftctrl & shiftctrl::AUTOPULL != 0 && self.osr_count >= self.pull_threshold() {
            let Some(word) = self.tx.pop() else {
                shared.fdebug |= fdebug::TXSTALL << self.index;
                return Outcome::Stalled(Stall::TxData);
            };
            self.osr = word;
            self.osr_count = 0;
            return Outcome::Again;
        }
        let bits = if argument & 31 == 0 { 32 } else { argument & 31 };
        let value = if self.shiftctrl & shiftctrl::OUT_SHIFTDIR != 0 {
            let value = self.osr & ones(bits);
            self.osr = self.osr.checked_shr(bits).unwrap_or(0);
            value
        } else {
            let value = self.osr >> (32 - bits);
            self.osr = self.osr.checked_shl(bits).unwrap_or(0);
            value
        };
        self.osr_count = (self.osr_count + bits).min(32);
        let mut outcome = Outcome::Next;
        match argument >> 5 {
            0 => {
                let enable = self.execctrl >> 19 & 31;
                if self.execctrl & execctrl::INLINE_OUT_EN != 0 && value >> enable & 1 == 0 {
                    self.sticky = None;
                } else {
                    self.write_pins(value, self.pinctrl, self.out_count(), shared);
                }
            }
            1 => self.x = value,
            2 => self.y = value,
            3 => {}
            4 => self.write_dirs(value, self.pinctrl, self.out_count(), shared),
            5 => {
                self.pc = value & 31;
                outcome = Outcome::Jumped;
            }
            6 => {
                self.isr = value;
                self.isr_count = bits;
            }
            _ => self.injected = Some(Injected { opcode: value as u16, forced: false }),
        }
        outcome
    }

    fn push_pull(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        let conditional = argument & 0x40 != 0;
        let block = argument & 0x20 != 0;
        if argument & 0x80 != 0 {
            let full = self.shiftctrl & shiftctrl::AUTOPULL != 0 && self.osr_count == 0;
            if full || (conditional && self.osr_count < self.pull_threshold()) {
                return Outcome::Next;
            }
            match self.tx.pop() {
                Some(word) => self.osr = word,
                None if block => {
                    shared.fdebug |= fdebug::TXSTALL << self.index;
                    return Outcome::Stalled(Stall::TxData);
                }
                None => self.osr = self.x,
            }
            self.osr_count = 0;
        } else {
            if conditional && self.isr_count < self.push_threshold() {
                return Outcome::Next;
            }
            if !self.rx.push(self.isr) {
                shared.fdebug |= fdebug::RXSTALL << self.index;
                if block {
                    return Outcome::Stalled(Stall::RxRoom);
                }
            }
            self.isr = 0;
            self.isr_count = 0;
        }
        Outcome::Next
    }

    fn mov(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        let value = self.source(argument & 7, shared);
        let value = match argument >> 3 & 3 {
            1 => !value,
            2 => value.reverse_bits(),
            _ => value,
        };
        match argument >> 5 {
            0 => self.write_pins(value, self.pinctrl, self.out_count(), shared),
            1 => self.x = value,
            2 => self.y = value,
            4 => self.injected = Some(Injected { opcode: value as u16, forced: false }),
            5 => {
                self.pc = value & 31;
                return Outcome::Jumped;
            }
            6 => {
                self.isr = value;
                self.isr_count = 0;
            }
            7 => {
                self.osr = value;
                self.osr_count = 0;
            }
            _ => {}
        }
        Outcome::Next
    }

    fn irq(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        let flag = self.irq_flag(argument & 31);
        let wait = argument & 0x20 != 0;
        if argument & 0x40 != 0 {
            shared.irq_clear |= 1 << flag;
            return Outcome::Next;
        }
        if self.irq_waiting {
            if shared.irq >> flag & 1 != 0 {
                return Outcome::Stalled(Stall::Irq { flag, level: false });
            }
            self.irq_waiting = false;
            return Outcome::Next;
        }
        shared.irq_set |= 1 << flag;
        if wait {
            self.irq_waiting = true;
            return Outcome::Stalled(Stall::Irq { flag, level: false });
        }
        Outcome::Next
    }

    fn set(&mut self, argument: u32, shared: &mut Shared) -> Outcome {
        let value = argument & 31;
        let (base, count) = (self.pinctrl >> 5, (self.pinctrl >> 26 & 7).min(5));
        match argument >> 5 {
            0 => self.write_pins(value, base, count, shared),
            1 => self.x = value,
            2 => self.y = value,
            4 => self.write_dirs(value, base, count, shared),
            _ => {}
        }
        Outcome::Next
    }
}

fn ones(bits: u32) -> u32 {
    ((1u64 << bits.min(32)) - 1) as u32
}

/// `count` bits of `value` on the pins from the low five bits of `base` on, wrapping after pin 31: values and mask.
fn map(value: u32, base: u32, count: u32) -> (u32, u32) {
    let base = base & 31;
    ((value & ones(count)).rotate_left(base), ones(count).rotate_left(base))
}
