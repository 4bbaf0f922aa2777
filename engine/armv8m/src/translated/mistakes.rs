//! Deliberate mistakes with instructions, each of which the fuzz has to find: another one is translated in their place.

use crate::decode::Op;
use crate::{Map, Memory};

/// Returns the instruction that is translated in place of `op`.
#[cfg(not(test))]
#[inline(always)]
pub(super) const fn mistaken<M: Map>(op: Op, _: &Memory<M>) -> Op {
    op
}

/// Returns the instruction that is translated in place of `op`.
#[cfg(test)]
pub(super) fn mistaken<M: Map>(op: Op, mem: &Memory<M>) -> Op {
    use jit::mistakes::Mistake::*;

    use crate::decode::{Kind::*, SECOND_HALF, flag};

    let loads = matches!(op.kind, LdrLit | LdrImm | LdrReg | LdrbImm | LdrbReg | LdrhImm | LdrhReg | Ldm | Ldrd);
    let products = matches!(op.kind, Mul | MulS | Mla | Mls | Umull | Smull | Umlal | Smlal | Umaal);
    let Some(made) = mem.translated.mistake() else { return op };
    let kind = |kind| Op { kind, ..op };
    let without = |flags: u8| Op { flags: op.flags & !flags, ..op };
    match (made, op.kind) {
        (LoadReady, _) if loads => Op { late: 0, ..op },
        (ShiftReady, Shifted) => Op { late: 0, ..op },
        (ProductReady, _) if products => Op { late: 0, ..op },
        (SecondHalfThere, _) => Op { reads: op.reads & !SECOND_HALF as u16, ..op },
        (PairedWithFlags, _) if op.flags & flag::FIRST != 0 => Op { flags: op.flags | flag::QUIET, ..op },
        (TakenUnpaired, _) => without(flag::QUIET),
        (UntakenUnpaired, _) => without(flag::FIRST),
        (NopUnpaired, _) => without(flag::IDLE),
        (FlagsWithinIt, _) => without(flag::OUTSIDE_IT),
        (ByteUnsigned, LdrsbImm) => kind(LdrbImm),
        (ByteUnsigned, LdrsbReg) => kind(LdrbReg),
        (CarryOfConstant, AndImmS | BicImmS | OrrImmS | EorImmS | MovImmS | MvnImmS | TstImm | TeqImm) => {
            Op { c: 0, ..op }
        }
        (InsertsAtZero, Bfi) => Op { d: 0, ..op },
        (FieldUnsigned, Sbfx) => kind(Ubfx),
        (ProductUnsigned, Smull) => kind(Umull),
        (AddsOneWord, Umaal) => kind(Umlal),
        (QuotientUnsigned, Sdiv) => kind(Udiv),
        (AddsProduct, Mls) => kind(Mla),
        (ClearsLowerHalf, Movt) => kind(MovImm),
        (BaseKept, Ldm | Stm) => Op { c: 0, ..op },
        (BaseKeptByIndexed, Indexed) if op.imm & 0x500 == 0x100 => Op { imm: op.imm & !0xff, ..op },
        (BaseMovedBefore, Indexed) => Op { imm: op.imm | 0x400, ..op },
        (BaseKeptByDouble, Ldrd | Strd) => Op { d: op.d & !2, ..op },
        (TableOfBytes, TableBranch) => Op { imm: 0, ..op },
        (AddsWithoutCarry, AdcRegS) => kind(AddRegS),
        (SbcWithoutBorrow, SbcRegS) => kind(SubRegS),
        (RotatesWithoutCarry, Shifted) if op.d == 3 << 5 => Op { d: 3 << 5 | 1, ..op },
        (ShiftsByLess, LsrImmS) if op.imm == 32 => Op { imm: 31, ..op },
        (ReversesBoth, Revsh) => kind(Rev16),
        _ => op,
    }
}
