//! Puts instructions into a block ([`jit::Block`]), and tells it the registers and flags that they read and change.

use std::ops::{Deref, DerefMut};

use cpu::Map;
use jit::flags::{ALL, C, NZ, needs};
use jit::mistakes::Mistake;
use jit::{Block, Effects, Flow, Part, Touches};

use crate::decode::{Kind, Op, decode};
use crate::{Memory, V6m};

/// A block in the making.
pub(super) struct Translation<'t, 'a, M>(pub(super) &'t mut Block<'a, V6m, M>);

impl<'a, M> Deref for Translation<'_, 'a, M> {
    type Target = Block<'a, V6m, M>;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl<M> DerefMut for Translation<'_, '_, M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0
    }
}

impl<M: Map> Translation<'_, '_, M> {
    /// Translates the next instruction.
    pub(super) fn step(&mut self) -> Flow {
        let pc = self.here.pc;
        let (half, next) = self.part.halfwords(self.mem, pc);
        let op = decode(half, next);
        let inside = self.part.contains(pc + op.bytes() - 1)
            || self.makes(Mistake::PastEnd) && self.part.contains(pc.wrapping_sub(2));
        if !inside || !translatable(op) {
            return Flow::Interpreted;
        }
        let touches = match op.kind {
            kind if leaves_memory_alone(kind) => Touches::Nothing,
            Kind::LdrReg | Kind::LdrImm | Kind::LdrhImm | Kind::LdrbImm => Touches::Loads,
            _ => Touches::More,
        };
        self.begin(op.bytes(), touches, op.kind.taken().is_some());
        let flow = self.instruction(op);
        self.held &= keeps_held(op);
        self.here.pc = self.next;
        flow
    }
}

/// Returns what the instruction at `pc` does with flags and registers, if a block goes on after it.
pub(super) fn effects<M: Map>(mem: &Memory<M>, part: Part, pc: u32) -> Option<Effects> {
    let (half, next) = part.halfwords(mem, pc);
    let op = decode(half, next);
    let ends = matches!(op.kind, Kind::B | Kind::Bl | Kind::Bx | Kind::Blx | Kind::MovPc | Kind::AddPc | Kind::PopPc);
    let (reads, sets) = (reads(op.kind), sets(op.kind));
    let condition = op.kind.taken().map(|_| op.kind as u8 - Kind::Beq as u8);
    let (tests, uses) = (condition.map_or(0, needs), uses(op));
    (!ends && translatable(op)).then(|| Effects { bytes: op.bytes(), reads, tests, sets, writes: writes(op), uses })
}

/// Returns whether an instruction reads constants, registers and flags, and changes these alone, or branches.
fn leaves_memory_alone(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::MovsReg
            | Kind::LslImm
            | Kind::LsrImm
            | Kind::AsrImm
            | Kind::AddReg
            | Kind::SubReg
            | Kind::AddImm
            | Kind::SubImm
            | Kind::MovImm
            | Kind::CmpImm
            | Kind::And
            | Kind::Tst
            | Kind::CmpReg
            | Kind::Orr
            | Kind::Bic
            | Kind::MovHi
            | Kind::LdrLit
            | Kind::Uxth
            | Kind::Uxtb
            | Kind::Nop
            | Kind::Beq
            | Kind::Bne
            | Kind::Bcs
            | Kind::Bcc
            | Kind::Bmi
            | Kind::Bpl
            | Kind::Bhi
            | Kind::Bls
            | Kind::Bge
            | Kind::Blt
            | Kind::Bgt
            | Kind::Ble
            | Kind::B
    )
}

/// Returns whether RAX is the same after an instruction as before.
fn keeps_held(op: Op) -> bool {
    match op.kind {
        Kind::MovHi => op.a < 8,
        Kind::LslReg | Kind::LsrReg | Kind::AsrReg | Kind::RorReg => false,
        Kind::Push | Kind::Pop | Kind::Stm | Kind::Ldm | Kind::AddSpImm => false,
        Kind::AddHi | Kind::AddFromPc | Kind::MovFromPc => false,
        _ => true,
    }
}

/// Returns whether a block may contain `op`; other instructions are interpreted.
fn translatable(op: Op) -> bool {
    match op.kind {
        Kind::Undecoded
        | Kind::Cps
        | Kind::Bkpt
        | Kind::Wfe
        | Kind::Wfi
        | Kind::Sev
        | Kind::Svc
        | Kind::Undefined
        | Kind::Msr
        | Kind::Mrs
        | Kind::Barrier => false,
        Kind::Push | Kind::Pop | Kind::Stm | Kind::Ldm => op.imm != 0,
        _ => true,
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

/// Returns the registers that an instruction may read, as bits.
fn uses(op: Op) -> u16 {
    match op.kind {
        Kind::Nop | Kind::MovImm | Kind::LdrLit | Kind::Adr => 0,
        kind if kind.taken().is_some() => 0,
        Kind::AddImm | Kind::SubImm | Kind::CmpImm | Kind::LdrImm | Kind::LdrhImm | Kind::LdrbImm => 1 << op.b,
        Kind::LslImm | Kind::LsrImm | Kind::AsrImm | Kind::MovsReg | Kind::Uxth | Kind::Uxtb => 1 << op.c,
        Kind::And | Kind::Tst | Kind::CmpReg | Kind::Orr | Kind::Bic | Kind::AddReg | Kind::SubReg => {
            1 << op.b | 1 << op.c
        }
        _ => u16::MAX,
    }
}

/// Returns the registers that an instruction may change, as bits.
fn writes(op: Op) -> u16 {
    match op.kind {
        Kind::Tst | Kind::CmpImm | Kind::CmpReg | Kind::Cmn | Kind::Nop => 0,
        Kind::StrReg | Kind::StrhReg | Kind::StrbReg | Kind::StrImm | Kind::StrhImm | Kind::StrbImm => 0,
        Kind::Push | Kind::AddSp | Kind::SubSp => 1 << 13,
        Kind::Pop => 1 << 13 | op.imm as u16,
        Kind::Stm | Kind::Ldm => 1 << op.b | op.imm as u16,
        kind if kind as u8 >= Kind::Beq as u8 && kind as u8 <= Kind::Ble as u8 => 0,
        _ => 1 << op.a,
    }
}
