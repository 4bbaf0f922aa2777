//! The floating-point instructions (FPv5, single precision), by their word.

use crate::bus::Bus;
use crate::core::Core;
use crate::decode::Op;
use crate::exec::holds;
use crate::fault::Cause;
use crate::float::{Float, Rounding};
use crate::rare::Then;
use crate::{Memory, time};
use sim::Snapshot;

/// Bits of FPSCR that a new context takes from FPDSCR: AHP, DN, FZ, RMode.
pub(crate) const FPSCR_CONTEXT: u32 = 0x07c0_0000;
pub(crate) const FPSCR_WRITABLE: u32 = 0xf7c0_009f;

/// The registers.
#[derive(Debug, Default, Snapshot)]
pub struct Fpu {
    pub s: [u32; 32],
    pub fpscr: u32,
    /// It is on, and its context is the program's own.
    pub(crate) ready: bool,
    /// Registers whose values come at cycle `ready_at`.
    late: u32,
    ready_at: u64,
    /// Cycle from which on it takes an instruction.
    free_at: u64,
    /// Arithmetic instructions since the core's reset: no loads, stores or moves to and from other registers.
    pub executed: u64,
}

impl Fpu {
    fn modes(&self) -> Float {
        let bit = |at: u32| self.fpscr >> at & 1 != 0;
        Float {
            rounding: [Rounding::NearestEven, Rounding::Up, Rounding::Down, Rounding::Zero]
                [(self.fpscr >> 22 & 3) as usize],
            flush: bit(24),
            default_nan: bit(25),
            alternative_half: bit(26),
            flags: self.fpscr & 0x9f,
        }
    }
}

/// VFPExpandImm.
fn expand(imm8: u32) -> u32 {
    let exponent = if imm8 & 0x40 != 0 { 0x7c } else { 0x80 } | imm8 >> 4 & 3;
    (imm8 & 0x80) << 24 | exponent << 23 | (imm8 & 15) << 19
}

impl Core {
    /// Executes a data-processing instruction or a transfer.
    pub(crate) fn execute_float<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        op: Op,
    ) -> Result<Then, Cause> {
        if !self.fpu.ready {
            self.prepare_fpu(mem, bus)?;
        }
        let word = op.imm;
        let double = word & 0x100 != 0;
        let d = (word >> 11 & 0x1e | word >> 22 & 1) as usize;
        let n = (word >> 15 & 0x1e | word >> 7 & 1) as usize;
        let m = (word << 1 & 0x1e | word >> 5 & 1) as usize;
        if word >> 24 == 0xec {
            return self.transfer_two(op, double, m);
        }
        if word >> 24 == 0xee && word & 0x10 != 0 {
            return self.transfer_one(op, double, n);
        }
        if double {
            return Err(Cause::UndefinedInstruction);
        }
        self.fpu.executed += 1;
        // Results come a cycle late.
        let accumulates = word >> 24 == 0xee && matches!(word >> 20 & 0xb, 0..=1 | 9..=10);
        let reads = 1 << n | 1 << m | u32::from(accumulates) << d;
        if self.fpu.late & reads != 0 {
            self.cycles = self.cycles.max(self.fpu.ready_at);
        }
        self.cycles = self.cycles.max(self.fpu.free_at);
        let [x, y, z] = [n, m, d].map(|register| self.fpu.s[register]);
        let mut float = self.fpu.modes();
        let mut latency = 1;
        let opposite = word & 0x40 != 0;
        let minus = |x: u32| x ^ 1 << 31;
        let value = match (word >> 24, word >> 20 & 0xb) {
            (0xfe, code @ (0..=3)) => {
                // VSEL: EQ, VS, GE, GT.
                let condition = [0, 6, 10, 12][code as usize];
                Some(if holds(self, condition) { x } else { y })
            }
            (0xfe, 8) => Some(float.extreme(x, y, opposite)),
            (0xfe, 0xb) => {
                let rounding = [Rounding::NearestAway, Rounding::NearestEven, Rounding::Up, Rounding::Down]
                    [(word >> 16 & 3) as usize];
                match word >> 18 & 3 {
                    2 if opposite => Some(float.round(y, rounding, false)),
                    3 if opposite => Some(float.integer(y, 32, word & 0x80 != 0, 0, rounding)),
                    _ => return Err(Cause::UndefinedInstruction),
                }
            }
            (0xee, 0 | 1) => {
                // VMLA, VMLS, VNMLS, VNMLA.
                let product = float.mul(x, y);
                latency = time::FMA_OCCUPIES + 1;
                Some(match (word >> 20 & 1 != 0, opposite) {
                    (false, false) => float.add(z, product),
                    (false, true) => float.add(z, minus(product)),
                    (true, false) => float.add(minus(z), product),
                    (true, true) => float.add(minus(z), minus(product)),
                })
            }
            (0xee, 2) => {
                let product = float.mul(x, y);
                Some(if opposite { minus(product) } else { product })
            }
            (0xee, 3) => Some(if opposite { float.sub(x, y) } else { float.add(x, y) }),
            (0xee, 8) if !opposite => {
                self.cycles += time::FLOAT_DIVIDE - 1;
                Some(float.div(x, y))
            }
            (0xee, code @ (9 | 10)) => {
                latency = time::FMA_OCCUPIES + 1;
                let x = if opposite { minus(x) } else { x };
                Some(float.fma(if code == 9 { minus(z) } else { z }, x, y))
            }
            (0xee, 0xb) if !opposite => {
                latency = 0;
                Some(expand(word >> 12 & 0xf0 | word & 15))
            }
            (0xee, 0xb) => self.unary(word, &mut float, y, z)?,
            _ => return Err(Cause::UndefinedInstruction),
        };
        self.fpu.fpscr |= float.flags;
        self.cycles += 1;
        if latency > 1 {
            self.fpu.free_at = self.cycles + time::FMA_OCCUPIES;
        }
        if let Some(value) = value {
            self.fpu.s[d] = value;
            (self.fpu.late, self.fpu.ready_at) = (1 << d, self.cycles + latency);
        }
        Ok(Then::Next)
    }

    /// Executes an instruction with the operand `y`, or compares `z` with it.
    fn unary(&mut self, word: u32, float: &mut Float, y: u32, z: u32) -> Result<Option<u32>, Cause> {
        let second = word & 0x80 != 0;
        let kind = word >> 16 & 15;
        Ok(Some(match (kind, second) {
            (0, false) => y,
            (0, true) => y & !(1 << 31),
            (1, false) => y ^ 1 << 31,
            (1, true) => {
                self.cycles += time::FLOAT_DIVIDE - 1;
                float.sqrt(y)
            }
            (2, top) => float.single_of_half(y >> if top { 16 } else { 0 } & 0xffff),
            (3, false) => z & 0xffff_0000 | float.half(y),
            (3, true) => z & 0xffff | float.half(y) << 16,
            (4 | 5, signals) => {
                let other = if kind == 5 { 0 } else { y };
                let flags = float.compare(z, other, signals);
                self.fpu.fpscr = self.fpu.fpscr & 0x0fff_ffff | flags;
                return Ok(None);
            }
            (6, false) => float.round(y, float.rounding, false),
            (6, true) => float.round(y, Rounding::Zero, false),
            (7, false) => float.round(y, float.rounding, true),
            (8, signed) => float.single_of_integer(if signed { i64::from(y as i32) } else { i64::from(y) }, 0),
            (10 | 11 | 14 | 15, long) => {
                let bits = if long { 32 } else { 16 };
                let fraction = bits - ((word & 15) << 1 | word >> 5 & 1).min(bits);
                let unsigned = kind & 1 != 0;
                if kind & 4 != 0 {
                    let value = float.integer(z, bits, !unsigned, fraction, Rounding::Zero);
                    if long || unsigned { value } else { value as i16 as u32 }
                } else {
                    let value = match (unsigned, long) {
                        (true, true) => i64::from(z),
                        (true, false) => i64::from(z as u16),
                        (false, true) => i64::from(z as i32),
                        _ => i64::from(z as i16),
                    };
                    // Always to the nearest.
                    let rounding = std::mem::replace(&mut float.rounding, Rounding::NearestEven);
                    let value = float.single_of_integer(value, fraction);
                    float.rounding = rounding;
                    value
                }
            }
            (12 | 13, toward_zero) => {
                let rounding = if toward_zero { Rounding::Zero } else { float.rounding };
                float.integer(y, 32, kind == 13, 0, rounding)
            }
            _ => return Err(Cause::UndefinedInstruction),
        }))
    }

    /// VMOV between a single and a core register, VMRS, VMSR.
    fn transfer_one(&mut self, op: Op, double: bool, n: usize) -> Result<Then, Cause> {
        let word = op.imm;
        let to_core = word & 1 << 20 != 0;
        let register = usize::from(op.a);
        match (word >> 21 & 7, double) {
            (0, false) if to_core => self.regs[register] = self.fpu.s[n],
            (0, false) => self.fpu.s[n] = self.regs[register],
            // Half of a double.
            (half @ (0 | 1), true) => {
                let single = (n & !1 | n << 5 & 32) & 31 | half as usize;
                let single = if word >> 7 & 1 != 0 { return Err(Cause::UndefinedInstruction) } else { single };
                if to_core {
                    self.regs[register] = self.fpu.s[single];
                } else {
                    self.fpu.s[single] = self.regs[register];
                }
            }
            (7, false) if word >> 16 & 15 == 1 => {
                if !to_core {
                    self.fpu.fpscr = self.regs[register] & FPSCR_WRITABLE;
                } else if register == 15 {
                    self.set_nzcv(self.fpu.fpscr);
                } else {
                    self.regs[register] = self.fpu.fpscr;
                }
            }
            // MVFR0 to MVFR2 are registers of memory on this profile; VMRS reads only FPSCR.
            _ => return Err(Cause::UndefinedInstruction),
        }
        self.cycles += 1;
        Ok(Then::Next)
    }

    /// VMOV between two core registers and two singles or a double.
    fn transfer_two(&mut self, op: Op, double: bool, m: usize) -> Result<Then, Cause> {
        let word = op.imm;
        if word & 0xd0 != 0x10 {
            return Err(Cause::UndefinedInstruction);
        }
        let first = if double { ((word & 15) << 1) as usize } else { m };
        if double && word & 0x20 != 0 || first == 31 {
            return Err(Cause::UndefinedInstruction);
        }
        let (low, high) = (usize::from(op.a), usize::from(op.b));
        if word & 1 << 20 != 0 {
            (self.regs[low], self.regs[high]) = (self.fpu.s[first], self.fpu.s[first + 1]);
            self.cycles += 2;
        } else {
            (self.fpu.s[first], self.fpu.s[first + 1]) = (self.regs[low], self.regs[high]);
            self.cycles += 1;
        }
        Ok(Then::Next)
    }

    /// VLDR, VSTR, VLDM, VSTM, VPUSH, VPOP.
    pub(crate) fn execute_float_load<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        op: Op,
    ) -> Result<Then, Cause> {
        if !self.fpu.ready {
            self.prepare_fpu(mem, bus)?;
        }
        let word = op.imm;
        let bit = |at: u32| word >> at & 1 != 0;
        let (double, load, back, up, before) = (bit(8), bit(20), bit(21), bit(23), bit(24));
        let first = if double {
            if bit(22) {
                return Err(Cause::UndefinedInstruction);
            }
            word >> 11 & 0x1e
        } else {
            word >> 11 & 0x1e | word >> 22 & 1
        };
        let base = if op.b == 15 { self.pc.wrapping_add(4) & !3 } else { self.regs[usize::from(op.b)] };
        let offset = (word & 0xff) * 4;
        let moved = if up { base.wrapping_add(offset) } else { base.wrapping_sub(offset) };
        let single = before && !back;
        if !single && before == up {
            return Err(Cause::UndefinedInstruction);
        }
        let count = if single { 1 + u32::from(double) } else { word & 0xff & if double { 0xfe } else { 0xff } };
        let mut at = if single || before { moved } else { base };
        if first + count > 32 || count == 0 {
            return Err(Cause::UndefinedInstruction);
        }
        if at & 3 != 0 {
            return Err(Cause::Unaligned { address: at });
        }
        if back && op.b == 13 && !up && self.exceeds(self.active_stack(), moved) {
            return Err(Cause::StackLimit { sp: moved });
        }
        self.cycles = self.cycles.max(self.fpu.free_at);
        for register in first..first + count {
            if load {
                self.fpu.s[register as usize] = self.load(mem, bus, at, 4)?;
            } else {
                if self.fpu.late >> register & 1 != 0 {
                    self.cycles = self.cycles.max(self.fpu.ready_at);
                }
                self.store(mem, bus, at, self.fpu.s[register as usize], 4)?;
            }
            at = at.wrapping_add(4);
        }
        if back {
            self.regs[usize::from(op.b)] = if op.b == 13 { moved & !3 } else { moved };
        }
        Ok(Then::Next)
    }
}
