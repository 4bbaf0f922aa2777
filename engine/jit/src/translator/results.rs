//! Results of instructions, with the flags that a block leaves out ([`super::flags`]).
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::Map;
use dynasmrt::{DynasmApi, dynasm};

use super::Translate;
use super::block::{Block, guest};
use super::flags::{ALL, Apply, C, Host, NZ, Operand, Source, Sum, V, needs};
use super::mistakes::Mistake;
use super::routines::{ECX, GUEST};

/// How many instructions are looked at to find out whether flags are set again.
const FAR: u32 = 16;

/// What an instruction, which goes on with the next, does with flags (sets as of [`super::flags::ALL`]) and registers.
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    /// Its length.
    pub bytes: u32,
    /// The flags that it reads in the core. A branch has its own ways.
    pub reads: u8,
    /// The flags that it sets in any case.
    pub sets: u8,
    /// The flags that it reads as a branch.
    pub tests: u8,
    /// The registers that it may change, as bits.
    pub writes: u16,
    /// The registers that it may read, as bits.
    pub uses: u16,
}

/// The registers, the flags as in APSR, the PC, and the cycles that an instruction leaves.
#[cfg(feature = "mistakes")]
pub type Outcome = ([u32; 16], u32, u32, u64);

#[cfg(feature = "mistakes")]
impl Effects {
    /// Asserts that what an instruction leaves does not depend on more than this says: `left_by` executes it with other
    /// registers and flags. `bit` chooses which bit changes. Returns how many registers did not matter.
    pub fn assert_reads(
        &self,
        (registers, apsr): ([u32; 16], u32),
        mut bit: impl FnMut() -> u32,
        mut left_by: impl FnMut([u32; 16], u32) -> Outcome,
    ) -> u32 {
        let mut changed = 0;
        let expected = left_by(registers, apsr);
        for register in (0..13).filter(|register| self.uses & 1 << register == 0) {
            let mut other = registers;
            other[register] ^= 1 << bit();
            let mut left = left_by(other, apsr);
            // A fault writes none.
            let is_kept = (expected.0[register], left.0[register]) == (registers[register], other[register]);
            // It leaves what it does not write.
            assert!(is_kept || self.writes & 1 << register != 0, "it writes R{register}");
            if is_kept {
                left.0[register] = expected.0[register];
            }
            assert_eq!(left, expected, "it reads R{register}");
            changed += 1;
        }
        if self.reads | self.tests == 0 {
            let (regs, flags, pc, cycles) = left_by(registers, apsr ^ 0xf000_0000);
            assert_eq!((regs, pc, cycles), (expected.0, expected.2, expected.3), "it reads flags");
            let set = [(NZ, 0xc000_0000), (C, 0x2000_0000), (V, 0x1000_0000)];
            let set = set.into_iter().filter(|(flag, _)| self.sets & flag != 0).fold(0, |all, (_, bits)| all | bits);
            assert_eq!(flags & set, expected.1 & set, "it reads flags");
        }
        changed
    }
}

/// A shift by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// To the left.
    Lsl,
    /// To the right, without the sign.
    Lsr,
    /// To the right, with the sign.
    Asr,
    /// A rotation to the right.
    Ror,
}

impl<A: Translate, M: Map> Block<'_, A, M> {
    /// Writes flags of a set to the core.
    pub fn write_flags(&mut self, set: u8) {
        self.here.flags.write(set, &mut self.ops, A::LAYOUT);
        self.here.flags.put(set, Source::Core);
    }

    /// Says where the flags of a set are after an instruction: those left out at `source`.
    pub fn flags_are(&mut self, set: u8, left_out: u8, source: Source) {
        self.here.flags.put(set, Source::Core);
        self.here.flags.put(left_out, source);
    }

    /// Returns which flags of a set, which the current instruction sets, can be left out: they are set again before
    /// anything reads them in the core, and before `source` changes.
    pub fn left_out(&self, set: u8, source: Source) -> u8 {
        let (mut open, mut left_out, mut pc) = (if self.leaves_out { set } else { 0 }, 0, self.next);
        for _ in 0..FAR {
            let Some(effects) = A::effects(self.mem, self.part, pc) else { break };
            open &= !effects.reads;
            left_out |= open & effects.sets;
            open &= !left_out;
            if open == 0 || source.changes(effects.writes) && !self.makes(Mistake::FlagsLost) {
                break;
            }
            pc = pc.wrapping_add(effects.bytes);
        }
        left_out
    }

    /// Writes flags of a set to the core, from x86's flags, and N and Z from `host`. Arm's carry of a difference is x86's
    /// inverted. Only ECX changes.
    pub fn set_flags(&mut self, set: u8, subtracts: bool, host: u8) {
        let at = A::LAYOUT;
        if set & C != 0 {
            if subtracts {
                dynasm!(self.ops ; .arch x64 ; setnc BYTE [rbx + at.c]);
            } else {
                dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + at.c]);
            }
        }
        if set & V != 0 {
            dynasm!(self.ops ; .arch x64 ; seto BYTE [rbx + at.v]);
        }
        if set & NZ != 0 {
            dynasm!(self.ops ; .arch x64 ; movsxd rcx, Rd(host) ; mov [rbx + at.nz], rcx);
        }
    }

    /// Brings what a condition needs into x86's flags. `None`: it is in the core.
    pub(super) fn condition_in_host(&mut self, condition: u8) -> Option<Host> {
        let set = needs(condition);
        if let Some((host, _)) = self.host.filter(|&(host, at)| at == self.ops.offset() && host.decides(condition)) {
            return Some(host);
        }
        let Some(source) = self.here.flags.common(set) else {
            self.write_flags(set);
            return None;
        };
        let (source, host) = match source {
            Source::Sum(Sum { to: Some(to), .. }) if set == NZ => (Source::Value(to), Host::Logic),
            Source::Sum(Sum { subtracts: true, .. }) => (source, Host::Difference),
            Source::Sum(_) | Source::Bit(..) => (source, Host::Sum),
            _ => (source, Host::Logic),
        };
        if !host.decides(condition) {
            self.write_flags(set);
            return None;
        }
        source.test(&mut self.ops, A::LAYOUT);
        Some(host)
    }

    /// Sets N and Z of a result in a register of R0 to R7. `host`: what x86's flags hold.
    pub fn value(&mut self, register: u8, host: Option<Host>) {
        let source = Source::Value(register);
        let left_out = self.left_out(NZ, source);
        self.set_flags(NZ & !left_out, false, GUEST[usize::from(register & 7)]);
        self.flags_are(NZ, left_out, source);
        self.host = host.map(|host| (host, self.ops.offset()));
    }

    /// Adds or subtracts, `to` a register of R0 to R7 or only for its flags, and sets those of a set.
    pub fn sum(&mut self, subtracts: bool, operands: [Operand; 2], to: Option<u8>, set: u8) {
        let [mut first, mut second] = operands;
        let is_result = |operand| to.is_some_and(|to| operand == Operand::Register(to));
        if !subtracts && is_result(second) {
            (first, second) = (second, first);
        }
        let set = match second {
            _ if to.is_none() && self.makes(Mistake::FlagsOfCompare) => 0,
            Operand::Constant(_) if !subtracts && self.makes(Mistake::OverflowOfAdd) => set & !V,
            _ => set,
        };
        let before = if is_result(first) { Operand::Overwritten } else { first };
        let source = Source::Sum(Sum { subtracts, first: before, second, to });
        // Of the operands, only the first can be computed back from the result.
        let left_out = if is_result(second) { 0 } else { self.left_out(set, source) };
        let at_once = set & !left_out;
        let host = to.filter(|_| !is_result(second)).map_or(ECX, |to| GUEST[usize::from(to)]);
        let leas = at_once == 0 && !is_result(first);
        let registers = [first, second].map(|operand| match operand {
            Operand::Register(register) => guest(register),
            _ => None,
        });
        match (registers, second) {
            _ if at_once == 0 && to.is_none() => {}
            ([Some(first), _], Operand::Constant(value)) if leas => {
                let value = if subtracts { value.wrapping_neg() } else { value } as i32;
                dynasm!(self.ops ; .arch x64 ; lea Rd(host), [Rq(first) + value]);
            }
            ([Some(first), Some(second)], _) if leas && !subtracts => {
                dynasm!(self.ops ; .arch x64 ; lea Rd(host), [Rq(first) + Rq(second)]);
            }
            _ => {
                if !(is_result(first) && host != ECX) {
                    first.read(host, &mut self.ops, A::LAYOUT);
                }
                second.apply(if subtracts { Apply::Sub } else { Apply::Add }, host, &mut self.ops, A::LAYOUT);
                self.set_flags(at_once, subtracts, host);
                if let Some(to) = to.filter(|_| host == ECX) {
                    dynasm!(self.ops ; .arch x64 ; mov Rd(GUEST[usize::from(to)]), ecx);
                }
                let holds = if subtracts { Host::Difference } else { Host::Sum };
                self.host = (set == ALL).then(|| (holds, self.ops.offset()));
            }
        }
        self.flags_are(set, left_out, source);
    }

    /// Shifts one of R0 to R7 into another by `n`, which is not 0. `flags`: sets them.
    pub fn shift(&mut self, shift: Shift, [to, from]: [u8; 2], n: u8, flags: bool) {
        let [host, other] = [to, from].map(|register| GUEST[usize::from(register & 7)]);
        let bit = if shift == Shift::Lsl { 32 - n } else { n - 1 };
        let mistaken = shift == Shift::Lsr && n < 32 && self.makes(Mistake::CarryOfShift);
        let set = if flags && !mistaken { C } else { 0 };
        let source = Source::Bit(from, bit);
        let left_out = if to == from { 0 } else { self.left_out(set, source) };
        let at_once = set & !left_out;
        if n == 32 && at_once != 0 {
            dynasm!(self.ops ; .arch x64 ; bt Rd(other), bit as i8);
            self.set_flags(at_once, false, host);
        }
        if to != from && (shift, n) != (Shift::Lsr, 32) {
            dynasm!(self.ops ; .arch x64 ; mov Rd(host), Rd(other));
        }
        match shift {
            Shift::Lsr if n == 32 => dynasm!(self.ops ; .arch x64 ; xor Rd(host), Rd(host)),
            Shift::Lsl => dynasm!(self.ops ; .arch x64 ; shl Rd(host), n as i8),
            Shift::Lsr => dynasm!(self.ops ; .arch x64 ; shr Rd(host), n as i8),
            Shift::Asr => dynasm!(self.ops ; .arch x64 ; sar Rd(host), n.min(31) as i8),
            Shift::Ror => dynasm!(self.ops ; .arch x64 ; ror Rd(host), n as i8),
        }
        if n != 32 {
            self.set_flags(at_once, false, host);
        }
        if flags {
            self.flags_are(set, left_out, source);
            self.value(to, (shift != Shift::Ror).then_some(Host::Logic));
        }
    }
}
