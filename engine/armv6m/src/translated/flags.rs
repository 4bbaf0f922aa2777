//! The flags that a block leaves out ([`jit::flags`]).

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::Map;
use dynasmrt::{DynasmApi, dynasm};
use jit::flags::{ALL, C, Host, NZ, Source, Sum, V, needs};
use jit::mistakes::Mistake;

use super::OFFSETS;
use super::block::{Translation, translatable};
use crate::decode::{Kind, Op, decode};

/// How many instructions are looked at to find out whether flags are set again.
const FAR: u32 = 16;

impl<M: Map> Translation<'_, M> {
    /// Writes flags of a set to the core.
    pub(super) fn write_flags(&mut self, set: u8) {
        self.here.flags.write(set, &mut self.ops, OFFSETS);
        self.here.flags.put(set, Source::Core);
    }

    /// Says where the flags of a set are after an instruction: those left out at `source`.
    pub(super) fn flags_are(&mut self, set: u8, left_out: u8, source: Source) {
        self.here.flags.put(set, Source::Core);
        self.here.flags.put(left_out, source);
    }

    /// Returns which flags of a set, which the current instruction sets, can be left out: they are set again before
    /// anything reads them in the core, and before `source` changes.
    pub(super) fn left_out(&self, op: Op, set: u8, source: Source) -> u8 {
        let (mut open, mut left_out) = (set, 0);
        let mut pc = self.here.pc.wrapping_add(op.bytes());
        for _ in 0..FAR {
            let (half, next) = self.part.halfwords(self.mem, pc);
            let op = decode(half, next);
            open &= !reads(op.kind);
            left_out |= open & sets(op.kind);
            open &= !left_out;
            let ends =
                matches!(op.kind, Kind::B | Kind::Bl | Kind::Bx | Kind::Blx | Kind::MovPc | Kind::AddPc | Kind::PopPc);
            let changes = source.changes(writes(op)) && !self.makes(Mistake::FlagsLost);
            if open == 0 || ends || !translatable(op) || changes {
                break;
            }
            pc = pc.wrapping_add(op.bytes());
        }
        left_out
    }

    /// Writes flags of a set to the core, from x86's flags, and N and Z from `host`. Arm's carry of a difference is x86's
    /// inverted. Only ECX changes.
    pub(super) fn set_flags(&mut self, set: u8, subtracts: bool, host: u8) {
        if set & C != 0 {
            if subtracts {
                dynasm!(self.ops ; .arch x64 ; setnc BYTE [rbx + OFFSETS.c]);
            } else {
                dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + OFFSETS.c]);
            }
        }
        if set & V != 0 {
            dynasm!(self.ops ; .arch x64 ; seto BYTE [rbx + OFFSETS.v]);
        }
        if set & NZ != 0 {
            dynasm!(self.ops ; .arch x64 ; movsxd rcx, Rd(host) ; mov [rbx + OFFSETS.nz], rcx);
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
        source.test(&mut self.ops, OFFSETS);
        Some(host)
    }
}

/// Returns which flags an instruction sets.
fn sets(kind: Kind) -> u8 {
    match kind {
        Kind::MovsReg
        | Kind::MovImm
        | Kind::And
        | Kind::Eor
        | Kind::Orr
        | Kind::Mul
        | Kind::Bic
        | Kind::Mvn
        | Kind::Tst => NZ,
        Kind::LslImm | Kind::LsrImm | Kind::AsrImm | Kind::LslReg | Kind::LsrReg | Kind::AsrReg | Kind::RorReg => {
            NZ | C
        }
        Kind::AddReg
        | Kind::SubReg
        | Kind::AddImm
        | Kind::SubImm
        | Kind::CmpImm
        | Kind::CmpReg
        | Kind::Cmn
        | Kind::Rsb
        | Kind::Adc
        | Kind::Sbc => ALL,
        _ => 0,
    }
}

/// Returns which flags an instruction reads in the core. A branch has its own ways.
fn reads(kind: Kind) -> u8 {
    match kind {
        Kind::Adc | Kind::Sbc | Kind::LslReg | Kind::LsrReg | Kind::AsrReg | Kind::RorReg => C,
        _ => 0,
    }
}

/// Returns the registers that an instruction may change, as bits.
fn writes(op: Op) -> u16 {
    match op.kind {
        Kind::Tst | Kind::CmpImm | Kind::CmpReg | Kind::Cmn | Kind::Nop => 0,
        Kind::StrReg | Kind::StrhReg | Kind::StrbReg | Kind::StrImm | Kind::StrhImm | Kind::StrbImm => 0,
        Kind::Push | Kind::AddSp | Kind::SubSp => 1 << 13,
        Kind::Pop | Kind::PopPc => 1 << 13 | op.imm as u16,
        Kind::Stm | Kind::Ldm => 1 << op.b | op.imm as u16,
        Kind::Bl | Kind::Blx => 1 << 14,
        kind if kind as u8 >= Kind::Beq as u8 && kind as u8 <= Kind::Ble as u8 => 0,
        Kind::B | Kind::Bx | Kind::MovPc | Kind::AddPc => 0,
        _ => 1 << op.a,
    }
}
