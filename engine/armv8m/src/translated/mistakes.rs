//! Deliberate mistakes of the block maker, each of which the fuzz has to find. Only the crate's tests make any.

use super::block::Place;
use crate::decode::Op;

macro_rules! mistakes {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// A deliberate mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(test), allow(dead_code, reason = "only the tests look for some"))]
        pub(crate) enum Mistake {
            $($(#[$about])* $name,)*
        }

        #[cfg(test)]
        impl Mistake {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

mistakes! {
    /// A loaded value is ready at once.
    LoadReady,
    /// A shifted operand's result is ready at once.
    ShiftReady,
    /// A product is ready at once.
    ProductReady,
    /// A branch to the middle of a wide instruction's word does not wait.
    SecondHalfThere,
    /// A branch after an instruction that sets flags is paired with it.
    PairedWithFlags,
    /// A taken branch is never paired.
    TakenUnpaired,
    /// A branch not taken is never paired.
    UntakenUnpaired,
    /// NOP is paired with nothing.
    NopUnpaired,
    /// An instruction in an IT block sets the flags as outside.
    FlagsWithinIt,
    /// LDRSH does not extend the sign.
    HalfwordUnsigned,
    /// LDRSB does not extend the sign.
    ByteUnsigned,
    /// BHI ignores Z.
    HigherOrSame,
    /// BGE does not branch after equal values.
    GreaterWithoutEqual,
    /// BLS ignores Z.
    LowerWithoutSame,
    /// A shifted constant leaves the carry, and takes no cycle for it.
    CarryOfConstant,
    /// BFI inserts at bit 0.
    InsertsAtZero,
    /// SBFX does not extend the sign.
    FieldUnsigned,
    /// SMULL multiplies without signs.
    ProductUnsigned,
    /// UMAAL adds one of its words only.
    AddsOneWord,
    /// SDIV divides without signs.
    QuotientUnsigned,
    /// MLS adds.
    AddsProduct,
    /// MOVT clears the lower half.
    ClearsLowerHalf,
    /// LDM and STM do not write the base back.
    BaseKept,
    /// LDRD and STRD do not write the base back.
    BaseKeptByDouble,
    /// A load or store of one register does not write the base back.
    BaseKeptByIndexed,
    /// One that adds to the base after the access does so before.
    BaseMovedBefore,
    /// TBH reads bytes.
    TableOfBytes,
    /// ADCS ignores the carry.
    AddsWithoutCarry,
    /// SBCS ignores the carry.
    SubtractsWithoutBorrow,
    /// RRX rotates by one bit without the carry.
    RotatesWithoutCarry,
    /// LSRS by 32 shifts by 31.
    ShiftsByLess,
    /// REVSH leaves the upper half.
    ReversesBoth,
    /// ADR does not align the PC.
    AdrUnaligned,
    /// A store does not look for code.
    StoreIntoCode,
    /// A list of words is stored into code behind its first granule.
    LastWordIntoCode,
    /// The first address behind SRAM is inside it.
    EndInside,
    /// STM and SUB do not look at the stack's limit.
    LimitIgnored,
    /// BX takes the end of an exception for a branch.
    ExceptionReturn,
    /// BX and BLX ignore bit 0 of the target.
    BxToArm,
    /// BL clears bit 0 of LR.
    LinksToArm,
    /// An interrupt waits for the end of the segment.
    SegmentOverruns,
    /// A miss of the cache is not followed by a look at the time.
    MissOverruns,
    /// Every fetch by a block hits the cache.
    EveryFetchHits,
    /// A fetch is counted twice.
    FetchCountedTwice,
    /// A literal in flash does not pass the cache.
    LiteralNotFetched,
    /// A literal in SRAM keeps the value that it had when the block was made.
    StaleLiteral,
    /// A division takes its least time.
    DividesAtOnce,
    /// An exit forgets which results come late.
    LateForgotten,
    /// An exit within an IT block forgets it.
    ItForgotten,
    /// The path of an IT block whose condition does not hold takes no time.
    SkippedFree,
    /// A block goes on after an access that needs attention.
    EventOverlooked,
}

#[cfg(test)]
thread_local! {
    /// The mistake that is made in this thread.
    pub(crate) static MADE: std::cell::Cell<Option<Mistake>> = const { std::cell::Cell::new(None) };
}

/// Returns whether to make `mistake`.
#[cfg(test)]
pub(super) fn makes(mistake: Mistake) -> bool {
    MADE.get() == Some(mistake)
}

/// Returns whether to make `mistake`.
#[cfg(not(test))]
#[inline(always)]
pub(super) const fn makes(_: Mistake) -> bool {
    false
}

/// Returns the instruction that is translated in place of `op`.
#[cfg(not(test))]
#[inline(always)]
pub(super) const fn mistaken(op: Op) -> Op {
    op
}

/// Returns the instruction that is translated in place of `op`.
#[cfg(test)]
pub(super) fn mistaken(op: Op) -> Op {
    use crate::decode::{Kind::*, SECOND_HALF, flag};
    use Mistake::*;

    let loads = matches!(op.kind, LdrLit | LdrImm | LdrReg | LdrbImm | LdrbReg | LdrhImm | LdrhReg | Ldm | Ldrd);
    let products = matches!(op.kind, Mul | MulS | Mla | Mls | Umull | Smull | Umlal | Smlal | Umaal);
    let Some(made) = MADE.get() else { return op };
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
        (HalfwordUnsigned, LdrshImm) => kind(LdrhImm),
        (HalfwordUnsigned, LdrshReg) => kind(LdrhReg),
        (ByteUnsigned, LdrsbImm) => kind(LdrbImm),
        (ByteUnsigned, LdrsbReg) => kind(LdrbReg),
        (HigherOrSame, Bhi) => kind(Bcs),
        (GreaterWithoutEqual, Bge) => kind(Bgt),
        (LowerWithoutSame, Bls) => kind(Bcc),
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
        (SubtractsWithoutBorrow, SbcRegS) => kind(SubRegS),
        (RotatesWithoutCarry, Shifted) if op.d == 3 << 5 => Op { d: 3 << 5 | 1, ..op },
        (ShiftsByLess, LsrImmS) if op.imm == 32 => Op { imm: 31, ..op },
        (ReversesBoth, Revsh) => kind(Rev16),
        _ => op,
    }
}

/// Returns `place` as an exit tells it.
pub(super) fn told(place: Place) -> Place {
    let late = if makes(Mistake::LateForgotten) { 0 } else { place.late };
    let it = if makes(Mistake::ItForgotten) { 0 } else { place.it };
    Place { late, it, ..place }
}
