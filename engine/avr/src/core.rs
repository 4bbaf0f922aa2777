//! The AVRe+ core: registers, stack, interrupts, and the time of each instruction ("AVR Instruction Set Manual",
//! DS40002198, column AVRe). It knows no chip: [`Memory`] has flash and SRAM, [`Io`] the registers of its peripherals.

use crate::memory::Memory;

/// Bits of SREG.
pub mod flag {
    /// Carry.
    pub const C: u8 = 1 << 0;
    /// Zero.
    pub const Z: u8 = 1 << 1;
    /// Negative.
    pub const N: u8 = 1 << 2;
    /// Two's complement overflow.
    pub const V: u8 = 1 << 3;
    /// Sign, N xor V.
    pub const S: u8 = 1 << 4;
    /// Half carry.
    pub const H: u8 = 1 << 5;
    /// Bit copy storage.
    pub const T: u8 = 1 << 6;
    /// Interrupts are enabled.
    pub const I: u8 = 1 << 7;
}

/// Registers of the core in the data space.
const RAMPZ: u16 = 0x5b;
const EIND: u16 = 0x5c;
const SPL: u16 = 0x5d;
const SPH: u16 = 0x5e;
const SREG: u16 = 0x5f;

/// First address of the data space behind the registers, and the I/O registers from there on.
const IO_START: u16 = 0x20;

/// X, Y and Z: pairs of registers that address data.
pub(crate) const X: usize = 26;
pub(crate) const Y: usize = 28;
pub(crate) const Z: usize = 30;

/// Cycles by which a wake-up delays the interrupt's handler (ATmega2560 datasheet 7.8.1).
const WAKE_CYCLES: u64 = 4;

/// What the core reaches besides its memories. `cycle`: the cycle of the access.
pub trait Io {
    /// Reads an I/O register.
    fn read(&mut self, address: u16, cycle: u64) -> u8;
    /// Writes an I/O register. Returns the cycles for which the core stands still.
    fn write(&mut self, address: u16, value: u8, cycle: u64) -> u64;
    /// Sets or clears one bit of an I/O register, by SBI or CBI.
    fn write_bit(&mut self, address: u16, mask: u8, set: bool, cycle: u64) -> u64;
    /// Returns the interrupts that are pending and enabled, as bits by vector number.
    fn pending(&self) -> u64;
    /// Takes the interrupt of `vector`, which clears its flag if it has one.
    fn acknowledge(&mut self, vector: u32, cycle: u64);
    /// Handles SLEEP. False: sleep is not enabled.
    fn sleep(&mut self, cycle: u64) -> bool;
    /// Handles WDR.
    fn reset_watchdog(&mut self, cycle: u64);
    /// Ends the run: the guest uses something that is not modelled.
    fn unmodelled(&mut self, what: String);
    /// Returns whether events or resets are to be handled before the next instruction.
    fn attention(&self) -> bool;
}

/// An AVR core.
#[derive(Clone, Debug)]
pub struct Core {
    /// R0 to R31.
    pub r: [u8; 32],
    /// The status register.
    pub sreg: u8,
    /// The stack pointer.
    pub sp: u16,
    /// The program counter, in words.
    pub pc: u32,
    /// The bits of Z for ELPM above its 16.
    pub rampz: u8,
    /// The bits of Z for EIJMP and EICALL above its 16.
    pub eind: u8,
    /// Cycle at which the next instruction starts.
    pub cycles: u64,
    /// Instructions executed since power-on.
    pub instructions: u64,
    /// It sleeps.
    pub asleep: bool,
    /// Nesting of the interrupt handlers being executed, as far as RETI tells.
    pub level: u32,
    /// The program counter has 22 bits, so that a return address takes three bytes.
    wide: bool,
    /// Mask of the program counter.
    pc_mask: u32,
    /// The next instruction is executed before any interrupt: after SEI and RETI.
    shadow: bool,
}

impl Core {
    /// Returns the core after a reset. `flash_bytes`: a power of two; `ram_end`: the last address of SRAM.
    pub fn new(flash_bytes: usize, ram_end: u16) -> Self {
        Self {
            r: [0; 32],
            sreg: 0,
            sp: ram_end,
            pc: 0,
            rampz: 0,
            eind: 0,
            cycles: 0,
            instructions: 0,
            asleep: false,
            level: 0,
            wide: flash_bytes > 128 << 10,
            pc_mask: (flash_bytes / 2 - 1) as u32,
            shadow: false,
        }
    }

    /// Restarts at cycle `cycle`. R0 to R31 keep their values.
    pub fn reset(&mut self, ram_end: u16, cycle: u64) {
        let (r, instructions) = (self.r, self.instructions);
        let (wide, pc_mask) = (self.wide, self.pc_mask);
        *self = Self { r, instructions, wide, pc_mask, cycles: cycle, ..Self::new(2, ram_end) };
    }

    /// Wakes the core at `cycle`, `start_up` cycles of which its oscillator needs.
    pub fn wake(&mut self, cycle: u64, start_up: u64) {
        if std::mem::take(&mut self.asleep) {
            self.cycles = self.cycles.max(cycle) + start_up + WAKE_CYCLES;
        }
    }

    /// Runs up to cycle `limit`, or until something else must be handled.
    #[inline]
    pub fn run(&mut self, mem: &mut Memory, io: &mut impl Io, limit: u64) {
        while self.cycles < limit && !self.asleep && !io.attention() {
            if self.sreg & flag::I != 0 && !std::mem::take(&mut self.shadow) {
                let pending = io.pending();
                if pending != 0 {
                    self.interrupt(mem, io, pending.trailing_zeros());
                    continue;
                }
            }
            self.execute(mem, io);
        }
    }

    fn interrupt(&mut self, mem: &mut Memory, io: &mut impl Io, vector: u32) {
        io.acknowledge(vector, self.cycles);
        self.push_pc(mem, io, self.pc);
        self.sreg &= !flag::I;
        self.pc = vector * 2;
        self.level += 1;
        self.cycles += if self.wide { 5 } else { 4 };
    }

    /// Returns the 16 bits of X, Y or Z, or of another pair of registers.
    #[inline]
    pub(crate) fn pair(&self, low: usize) -> u16 {
        u16::from_le_bytes([self.r[low], self.r[low + 1]])
    }

    #[inline]
    fn set_pair(&mut self, low: usize, value: u16) {
        [self.r[low], self.r[low + 1]] = value.to_le_bytes();
    }

    /// Reads the data space. `cycle`: the instruction's last one.
    #[inline]
    fn load(&mut self, mem: &Memory, io: &mut impl Io, address: u16, cycle: u64) -> u8 {
        if let Some(byte) = mem.load(address) {
            return byte;
        }
        match address {
            ..IO_START => self.r[usize::from(address)],
            RAMPZ => self.rampz,
            EIND if self.wide => self.eind,
            SPL => self.sp as u8,
            SPH => (self.sp >> 8) as u8,
            SREG => self.sreg,
            _ if address < mem.sram_start() => io.read(address, cycle),
            _ => {
                io.unmodelled(format!("load from 0x{address:04x}, where there is no memory"));
                0
            }
        }
    }

    #[inline]
    fn store(&mut self, mem: &mut Memory, io: &mut impl Io, address: u16, value: u8, cycle: u64) {
        if let Some(byte) = mem.byte_mut(address) {
            *byte = value;
            return;
        }
        match address {
            ..IO_START => self.r[usize::from(address)] = value,
            RAMPZ => self.rampz = value & (self.pc_mask >> 15) as u8,
            EIND if self.wide => self.eind = value & (self.pc_mask >> 16) as u8,
            SPL => self.sp = self.sp & 0xff00 | u16::from(value),
            SPH => self.sp = self.sp & 0x00ff | u16::from(value) << 8,
            SREG => self.set_sreg(value),
            _ if address < mem.sram_start() => self.cycles += io.write(address, value, cycle),
            _ => io.unmodelled(format!("store to 0x{address:04x}, where there is no memory")),
        }
    }

    fn set_sreg(&mut self, value: u8) {
        self.shadow |= value & !self.sreg & flag::I != 0;
        self.sreg = value;
    }

    fn push(&mut self, mem: &mut Memory, io: &mut impl Io, value: u8) {
        self.store(mem, io, self.sp, value, self.cycles);
        self.sp = self.sp.wrapping_sub(1);
    }

    fn pop(&mut self, mem: &Memory, io: &mut impl Io) -> u8 {
        self.sp = self.sp.wrapping_add(1);
        self.load(mem, io, self.sp, self.cycles)
    }

    fn push_pc(&mut self, mem: &mut Memory, io: &mut impl Io, pc: u32) {
        self.push(mem, io, pc as u8);
        self.push(mem, io, (pc >> 8) as u8);
        if self.wide {
            self.push(mem, io, (pc >> 16) as u8);
        }
    }

    fn pop_pc(&mut self, mem: &Memory, io: &mut impl Io) -> u32 {
        let top = if self.wide { u32::from(self.pop(mem, io)) << 16 } else { 0 };
        let high = u32::from(self.pop(mem, io)) << 8;
        (top | high | u32::from(self.pop(mem, io))) & self.pc_mask
    }

    /// Sets `flags` of SREG as far as `mask`.
    #[inline]
    fn flags(&mut self, mask: u8, flags: u8) {
        self.sreg = self.sreg & !mask | flags;
    }

    /// Returns N, Z, and S for a result with overflow `v`.
    #[inline]
    fn nzs(result: u8, v: bool) -> u8 {
        let n = result & 0x80 != 0;
        bit(result == 0, flag::Z) | bit(n, flag::N) | bit(v, flag::V) | bit(n != v, flag::S)
    }

    const ARITHMETIC: u8 = flag::H | flag::S | flag::V | flag::N | flag::Z | flag::C;
    const LOGIC: u8 = flag::S | flag::V | flag::N | flag::Z;

    #[inline]
    fn add(&mut self, d: usize, b: u8, carry: u8) {
        let a = self.r[d];
        let result = a.wrapping_add(b).wrapping_add(carry);
        let carries = (a & b) | (b & !result) | (!result & a);
        let v = ((a & b & !result) | (!a & !b & result)) & 0x80 != 0;
        let flags = Self::nzs(result, v) | bit(carries & 0x80 != 0, flag::C) | bit(carries & 8 != 0, flag::H);
        self.flags(Self::ARITHMETIC, flags);
        self.r[d] = result;
    }

    /// Returns the difference, and sets the flags. `keep_z`: Z only falls, as for SBC and CPC.
    #[inline]
    fn subtract(&mut self, a: u8, b: u8, carry: u8, keep_z: bool) -> u8 {
        let result = a.wrapping_sub(b).wrapping_sub(carry);
        let borrows = (!a & b) | (b & result) | (result & !a);
        let v = ((a & !b & !result) | (!a & b & result)) & 0x80 != 0;
        let mut flags = Self::nzs(result, v) | bit(borrows & 0x80 != 0, flag::C) | bit(borrows & 8 != 0, flag::H);
        if keep_z && self.sreg & flag::Z == 0 {
            flags &= !flag::Z;
        }
        self.flags(Self::ARITHMETIC, flags);
        result
    }

    #[inline]
    fn logic(&mut self, d: usize, result: u8) {
        self.flags(Self::LOGIC, Self::nzs(result, false));
        self.r[d] = result;
    }

    fn shift_right(&mut self, d: usize, top: u8) {
        let a = self.r[d];
        let result = a >> 1 | top;
        let (n, c) = (result & 0x80 != 0, a & 1 != 0);
        self.flags(Self::LOGIC | flag::C, Self::nzs(result, n != c) | bit(c, flag::C));
        self.r[d] = result;
    }

    fn product(&mut self, product: u16, fractional: bool) {
        let result = if fractional { product << 1 } else { product };
        let flags = bit(product & 0x8000 != 0, flag::C) | bit(result == 0, flag::Z);
        self.flags(flag::C | flag::Z, flags);
        self.set_pair(0, result);
    }

    /// Jumps over the next instruction if `skip`. Returns the additional cycles.
    #[inline]
    fn skip(&mut self, mem: &Memory, skip: bool) -> u64 {
        if !skip {
            return 0;
        }
        let words = if is_long(mem.word(self.pc)) { 2 } else { 1 };
        self.pc = (self.pc + words) & self.pc_mask;
        words.into()
    }

    /// Executes one instruction.
    #[inline]
    fn execute(&mut self, mem: &mut Memory, io: &mut impl Io) {
        let start = self.cycles;
        let op = mem.word(self.pc);
        self.pc = (self.pc + 1) & self.pc_mask;
        self.instructions += 1;
        let d = usize::from(op >> 4 & 0x1f);
        let r = usize::from(op & 0x0f | op >> 5 & 0x10);
        let high = usize::from(op >> 4 & 0x0f) + 16;
        let k = (op & 0x0f | op >> 4 & 0xf0) as u8;
        let carry = self.sreg & flag::C;
        let cycles = match op >> 12 {
            0x0 => match op >> 10 & 3 {
                0 => return self.execute_zero(io, op),
                1 => {
                    self.subtract(self.r[d], self.r[r], carry, true);
                    1
                }
                2 => {
                    self.r[d] = self.subtract(self.r[d], self.r[r], carry, true);
                    1
                }
                _ => {
                    self.add(d, self.r[r], 0);
                    1
                }
            },
            0x1 => match op >> 10 & 3 {
                0 => 1 + self.skip(mem, self.r[d] == self.r[r]),
                1 => {
                    self.subtract(self.r[d], self.r[r], 0, false);
                    1
                }
                2 => {
                    self.r[d] = self.subtract(self.r[d], self.r[r], 0, false);
                    1
                }
                _ => {
                    self.add(d, self.r[r], carry);
                    1
                }
            },
            0x2 => {
                let (a, b) = (self.r[d], self.r[r]);
                match op >> 10 & 3 {
                    0 => self.logic(d, a & b),
                    1 => self.logic(d, a ^ b),
                    2 => self.logic(d, a | b),
                    _ => self.r[d] = b,
                }
                1
            }
            0x3 => {
                self.subtract(self.r[high], k, 0, false);
                1
            }
            0x4 => {
                self.r[high] = self.subtract(self.r[high], k, carry, true);
                1
            }
            0x5 => {
                self.r[high] = self.subtract(self.r[high], k, 0, false);
                1
            }
            0x6 => {
                self.logic(high, self.r[high] | k);
                1
            }
            0x7 => {
                self.logic(high, self.r[high] & k);
                1
            }
            0x8 | 0xa => {
                let q = op & 7 | op >> 7 & 0x18 | op >> 8 & 0x20;
                let base = if op & 8 != 0 { Y } else { Z };
                self.access(mem, io, op & 0x200 != 0, d, self.pair(base).wrapping_add(q), start + 1);
                2
            }
            0x9 => return self.execute_nine(mem, io, op),
            0xb => {
                let address = (op & 0x0f | op >> 5 & 0x30) + IO_START;
                self.access(mem, io, op & 0x800 != 0, d, address, start);
                1
            }
            0xc => {
                self.pc = self.relative(op, 12);
                2
            }
            0xd => {
                self.push_pc(mem, io, self.pc);
                self.pc = self.relative(op, 12);
                if self.wide { 4 } else { 3 }
            }
            0xe => {
                self.r[high] = k;
                1
            }
            _ => self.execute_bits(mem, io, op, d),
        };
        self.cycles += cycles;
    }

    /// Returns the target of a relative jump, whose signed distance has `bits` bits from bit 0 on.
    #[inline]
    fn relative(&self, op: u16, bits: u32) -> u32 {
        let distance = (i32::from(op) << (32 - bits)) >> (32 - bits);
        self.pc.wrapping_add_signed(distance) & self.pc_mask
    }

    /// Moves a byte between a register and the data space.
    #[inline]
    fn access(&mut self, mem: &mut Memory, io: &mut impl Io, store: bool, d: usize, address: u16, cycle: u64) {
        if store {
            self.store(mem, io, address, self.r[d], cycle);
        } else {
            self.r[d] = self.load(mem, io, address, cycle);
        }
    }

    /// 0000 00xx: NOP, MOVW and the multiplications with signs.
    fn execute_zero(&mut self, io: &mut impl Io, op: u16) {
        let (d, r) = (usize::from(op >> 4 & 0x0f), usize::from(op & 0x0f));
        match op >> 8 {
            0 if op == 0 => {
                self.cycles += 1;
                return;
            }
            1 => {
                self.set_pair(2 * d, self.pair(2 * r));
                self.cycles += 1;
                return;
            }
            2 => {
                let product = i16::from(self.r[d + 16] as i8) * i16::from(self.r[r + 16] as i8);
                self.product(product as u16, false);
            }
            3 => {
                let (a, b) = (self.r[(d & 7) + 16], self.r[(r & 7) + 16]);
                let unsigned = u16::from(a) * u16::from(b);
                let mixed = i32::from(a as i8) * i32::from(b);
                let signed = i16::from(a as i8) * i16::from(b as i8);
                match op & 0x88 {
                    0x00 => self.product(mixed as u16, false),
                    0x08 => self.product(unsigned, true),
                    0x80 => self.product(signed as u16, true),
                    _ => self.product(mixed as u16, true),
                }
            }
            _ => return self.illegal(io, op),
        }
        self.cycles += 2;
    }

    /// 1001: loads and stores, single operands, long jumps, bits of I/O registers, 16-bit immediates.
    fn execute_nine(&mut self, mem: &mut Memory, io: &mut impl Io, op: u16) {
        let start = self.cycles;
        let d = usize::from(op >> 4 & 0x1f);
        let cycles = match op >> 8 & 0x0f {
            0x0..=0x3 => return self.execute_load_store(mem, io, op, d),
            0x4 | 0x5 => return self.execute_single(mem, io, op, d),
            0x6 | 0x7 => {
                let low = 24 + 2 * usize::from(op >> 4 & 3);
                let k = op & 0x0f | op >> 2 & 0x30;
                let a = self.pair(low);
                let subtracts = op & 0x100 != 0;
                let result = if subtracts { a.wrapping_sub(k) } else { a.wrapping_add(k) };
                let (was, is) = (a & 0x8000 != 0, result & 0x8000 != 0);
                let (v, c) = if subtracts { (was && !is, !was && is) } else { (!was && is, was && !is) };
                let flags = Self::nzs((result >> 8) as u8, v) & !flag::Z | bit(result == 0, flag::Z) | bit(c, flag::C);
                self.flags(Self::LOGIC | flag::C, flags);
                self.set_pair(low, result);
                2
            }
            0x8 | 0xa => {
                let (address, mask) = ((op >> 3 & 0x1f) + IO_START, 1 << (op & 7));
                self.cycles += io.write_bit(address, mask, op & 0x200 != 0, start + 1);
                2
            }
            0x9 | 0xb => {
                let (address, mask) = ((op >> 3 & 0x1f) + IO_START, 1 << (op & 7));
                let set = io.read(address, start) & mask != 0;
                1 + self.skip(mem, set == (op & 0x200 != 0))
            }
            _ => {
                let r = usize::from(op & 0x0f | op >> 5 & 0x10);
                self.product(u16::from(self.r[d]) * u16::from(self.r[r]), false);
                2
            }
        };
        self.cycles += cycles;
    }

    fn execute_load_store(&mut self, mem: &mut Memory, io: &mut impl Io, op: u16, d: usize) {
        let start = self.cycles;
        let store = op & 0x200 != 0;
        // A pointer that is stored by itself, which is documented as undefined, is stored as it was, as by simavr.
        let stored = self.r[d];
        let step = |core: &mut Self, low: usize, before: u16, after: u16| {
            let address = core.pair(low).wrapping_add(before);
            core.set_pair(low, address.wrapping_add(after));
            address
        };
        let address = match op & 0x0f {
            0x0 => {
                let address = mem.word(self.pc);
                self.pc = (self.pc + 1) & self.pc_mask;
                address
            }
            0x1 => step(self, Z, 0, 1),
            0x2 => step(self, Z, u16::MAX, 0),
            0x9 => step(self, Y, 0, 1),
            0xa => step(self, Y, u16::MAX, 0),
            0xc => self.pair(X),
            0xd => step(self, X, 0, 1),
            0xe => step(self, X, u16::MAX, 0),
            0xf => {
                self.cycles += 1;
                if store {
                    self.push(mem, io, self.r[d]);
                } else {
                    self.r[d] = self.pop(mem, io);
                }
                self.cycles += 1;
                return;
            }
            0x4..=0x7 if !store => {
                let bank = if op & 2 != 0 { u32::from(self.rampz) << 16 } else { 0 };
                let address = bank | u32::from(self.pair(Z));
                self.r[d] = mem.flash_byte(address);
                if op & 1 != 0 {
                    let next = address.wrapping_add(1);
                    self.set_pair(Z, next as u16);
                    if op & 2 != 0 {
                        self.rampz = (next >> 16) as u8 & (self.pc_mask >> 15) as u8;
                    }
                }
                self.cycles += 3;
                return;
            }
            _ => return self.illegal(io, op),
        };
        if store {
            self.store(mem, io, address, stored, start + 1);
        } else {
            self.r[d] = self.load(mem, io, address, start + 1);
        }
        self.cycles += 2;
    }

    /// 1001 010x: one operand, long jumps, and those without an operand.
    fn execute_single(&mut self, mem: &mut Memory, io: &mut impl Io, op: u16, d: usize) {
        let a = self.r[d];
        let cycles = match op & 0x0f {
            0x0 => {
                let result = !a;
                self.flags(Self::LOGIC | flag::C, Self::nzs(result, false) | flag::C);
                self.r[d] = result;
                1
            }
            0x1 => {
                self.r[d] = self.subtract(0, a, 0, false);
                1
            }
            0x2 => {
                self.r[d] = a.rotate_right(4);
                1
            }
            0x3 => {
                let result = a.wrapping_add(1);
                self.flags(Self::LOGIC, Self::nzs(result, result == 0x80));
                self.r[d] = result;
                1
            }
            0x5 => {
                self.shift_right(d, a & 0x80);
                1
            }
            0x6 => {
                self.shift_right(d, 0);
                1
            }
            0x7 => {
                self.shift_right(d, (self.sreg & flag::C) << 7);
                1
            }
            0xa => {
                let result = a.wrapping_sub(1);
                self.flags(Self::LOGIC, Self::nzs(result, result == 0x7f));
                self.r[d] = result;
                1
            }
            0xc..=0xf => {
                let target = u32::from(op >> 3 & 0x3e | op & 1) << 16 | u32::from(mem.word(self.pc));
                self.pc = (self.pc + 1) & self.pc_mask;
                let calls = op & 2 != 0;
                if calls {
                    self.push_pc(mem, io, self.pc);
                }
                self.pc = target & self.pc_mask;
                if calls { 4 + u64::from(self.wide) } else { 3 }
            }
            0x8 if op & 0x100 == 0 => {
                let mask = 1 << (op >> 4 & 7);
                let value = if op & 0x80 == 0 { self.sreg | mask } else { self.sreg & !mask };
                self.set_sreg(value);
                1
            }
            0x8 => return self.execute_alone(mem, io, op),
            0x9 => return self.execute_indirect(mem, io, op),
            _ => return self.illegal(io, op),
        };
        self.cycles += cycles;
    }

    /// 1001 0101 xxxx 1000: no operand.
    fn execute_alone(&mut self, mem: &mut Memory, io: &mut impl Io, op: u16) {
        let cycles = match op >> 4 & 0x0f {
            0x0 | 0x1 => {
                self.pc = self.pop_pc(mem, io);
                if op & 0x10 != 0 {
                    self.set_sreg(self.sreg | flag::I);
                    self.shadow = true;
                    self.level = self.level.saturating_sub(1);
                }
                4 + u64::from(self.wide)
            }
            0x8 => {
                self.asleep = io.sleep(self.cycles);
                1
            }
            // BREAK without a debugger is a NOP.
            0x9 => 1,
            0xa => {
                io.reset_watchdog(self.cycles);
                1
            }
            0xc | 0xd => {
                let bank = if op & 0x10 != 0 { u32::from(self.rampz) << 16 } else { 0 };
                self.r[0] = mem.flash_byte(bank | u32::from(self.pair(Z)));
                3
            }
            0xe | 0xf => {
                io.unmodelled("SPM, which programs flash".into());
                1
            }
            _ => return self.illegal(io, op),
        };
        self.cycles += cycles;
    }

    /// 1001 010x xxxx 1001: jumps and calls by Z.
    fn execute_indirect(&mut self, mem: &mut Memory, io: &mut impl Io, op: u16) {
        let bank = match op {
            0x9409 | 0x9509 => 0,
            0x9419 | 0x9519 if self.wide => u32::from(self.eind) << 16,
            _ => return self.illegal(io, op),
        };
        let calls = op & 0x100 != 0;
        if calls {
            self.push_pc(mem, io, self.pc);
        }
        self.pc = (bank | u32::from(self.pair(Z))) & self.pc_mask;
        self.cycles += if calls { 3 + u64::from(self.wide) } else { 2 };
    }

    /// 1111: branches, and the bits of registers. Returns the cycles.
    #[inline]
    fn execute_bits(&mut self, mem: &Memory, io: &mut impl Io, op: u16, d: usize) -> u64 {
        let mask = 1u8 << (op & 7);
        match op >> 9 & 7 {
            0..=3 => {
                let taken = (self.sreg & mask != 0) == (op & 0x400 == 0);
                if !taken {
                    return 1;
                }
                self.pc = self.relative(op >> 3, 7);
                2
            }
            _ if op & 8 != 0 => {
                self.illegal(io, op);
                0
            }
            4 => {
                self.r[d] = if self.sreg & flag::T != 0 { self.r[d] | mask } else { self.r[d] & !mask };
                1
            }
            5 => {
                let t = bit(self.r[d] & mask != 0, flag::T);
                self.flags(flag::T, t);
                1
            }
            _ => 1 + self.skip(mem, (self.r[d] & mask != 0) == (op & 0x200 != 0)),
        }
    }

    #[cold]
    fn illegal(&mut self, io: &mut impl Io, op: u16) {
        io.unmodelled(format!("opcode 0x{op:04x}, which is reserved"));
        self.cycles += 1;
    }
}

/// Returns `flag` if it is set.
#[inline]
fn bit(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}

/// Returns whether an instruction has a second word: LDS, STS, JMP and CALL.
#[inline]
fn is_long(op: u16) -> bool {
    op & 0xfc0f == 0x9000 || op & 0xfe0c == 0x940c
}
