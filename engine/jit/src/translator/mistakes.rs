//! Deliberate mistakes of the translator, each of which its fuzz has to find.
//!
//! Only the feature `mistakes`, which the tests of cores and chips turn on, makes any; without it all checks are constants.

use std::ops::Range;

use cpu::Master;

macro_rules! mistakes {
    ($($(#[$list_about:meta])* $list:ident: $($(#[$about:meta])* $name:ident,)*;)*) => {
        /// A deliberate mistake of the translator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(feature = "mistakes"), allow(dead_code, reason = "only the feature looks for some"))]
        pub enum Mistake {
            $($($(#[$about])* $name,)*)*
        }

        #[cfg(feature = "mistakes")]
        impl Mistake {
            $($(#[$list_about])* pub const $list: &[Self] = &[$(Self::$name),*];)*
        }
    };
}

mistakes! {
    /// Those with instructions that both Cortex-M cores have.
    OF_BOTH:
    /// A load from SRAM takes one cycle less.
    LoadTakesLess,
    /// An unaligned access rounds its address down.
    UnalignedAccess,
    /// The first address behind SRAM is inside it.
    EndInside,
    /// LDRSH does not extend the sign.
    SignLost,
    /// A literal in flash does not pass the cache.
    LiteralNotFetched,
    /// A literal in SRAM keeps the value that it had when the block was made.
    StaleLiteral,
    /// A store does not check for code.
    StoreIntoCode,
    /// A list of words is stored into code behind its first granule.
    LastWordIntoCode,
    /// ADR does not align the PC.
    AdrUnaligned,
    /// A branch ignores bit 0 of the target.
    BranchToArm,
    /// A branch does not see the end of an exception.
    ExceptionReturn,
    /// A move to SP keeps the lowest bits.
    SpUnaligned,
    /// SBCS ignores the carry.
    SbcWithoutBorrow,
    /// Within a segment, an interrupt waits for one more instruction.
    LimitAfterInstruction,
    /// BHI ignores Z.
    HigherOrSame,
    /// BLS ignores Z.
    LowerWithoutSame,
    /// BGE does not branch after equal values.
    GreaterWithoutEqual,
    /// Instructions before a slow access are counted twice.
    CountedTwice,
    /// A branch to an upper halfword does not fetch its word.
    OddHalfwordNotFetched,
    /// The cache counts fetches by blocks twice.
    FetchCountedTwice,
    /// Every fetch by a block hits the cache.
    EveryFetchHits,
    /// A miss of the cache takes no time.
    MissTakesNoTime,
    /// A miss of the cache is not followed by a look at the time.
    MissOverruns,
    /// The interpreter fetches the block's last word again.
    WordFetchedAgain,
    /// A block continues after an access that needs attention.
    EventOverlooked,
    /// A comparison sets no flags.
    FlagsOfCompare,
    /// An exit forgets the flags that the block has left out.
    FlagsForgotten,
    /// Flags that are left out are computed from registers that have changed.
    FlagsLost,
    /// ADDS with a constant does not set V.
    OverflowOfAdd,
    /// LSRS by a constant does not set C.
    CarryOfShift,
    /// After a taken branch, an interrupt waits for one more instruction.
    LimitAfterBlock,
    ;

    /// Those of Armv6-M, and with what else RP2040 has.
    ON_RP2040:
    /// LDM writes its base back although it is in the list.
    LdmWritesBack,
    /// BL does not fetch the word after its second halfword.
    BlFetchesOnce,
    /// BLX clears bit 0 of LR.
    BlxLinksToArm,
    /// A shift by a register that is 0 changes C.
    CarryOfShiftByZero,
    /// LSLS by 32 clears C.
    ShiftByWidth,
    /// A branch that is not taken takes two cycles.
    UntakenBranchTakesTwo,
    /// A block contains one instruction behind its region.
    PastEnd,
    /// The uncached alias of flash is read through the cache.
    UncachedAliasCached,
    /// Accesses to SRAM5 are not counted.
    Sram5NotCounted,
    /// An access to the core's own port takes as long as one to SRAM.
    PortTakesTwo,
    /// It is made at the cycle at which the block starts.
    PortAtStart,
    /// A change of a block's last instruction does not drop the block.
    BlockEndsEarly,
    /// A store of core 0 into code does not drop the block.
    CoreKeepsBlock,
    /// A store of core 1 into code does not drop the block.
    OtherCoreKeepsBlock,
    /// A write of DMA into code does not drop the block.
    DmaKeepsBlock,
    /// A change of flash does not drop the block.
    FlashKeepsBlock,
    /// A core reads what the other, ahead of it, has stored.
    ReadOfStoreAhead,
    /// A core changes what the other, ahead of it, has read.
    StoreAfterReadAhead,
    /// A store ahead of the other core stays when its core goes back.
    StoreAheadKept,
    /// A core ahead of the other does not go back.
    AheadKept,
    /// The cache counts what a core fetched ahead and again.
    AheadCountedTwice,
    /// A core ahead of the other fills the cache.
    MissAhead,
    /// A literal in SRAM, read ahead of the other core, may be changed by it.
    LiteralNotWatched,
    /// Core 1 is first in the same cycle.
    OtherCoreFirst,
    /// A loop waits for one pass more than time is left for.
    WaitPastLimit,
    /// A loop waits although what it reads changes with time.
    WaitForAnything,
    /// A loop that was left and entered again waits as if it had not been.
    WaitAfterOther,
    /// A loop waits whatever its registers were when it waited before.
    WaitWithOthers,
    ;

    /// Those of Armv8-M.
    OF_ARMV8M:
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
    /// LDRSB does not extend the sign.
    ByteUnsigned,
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
    /// RRX rotates by one bit without the carry.
    RotatesWithoutCarry,
    /// LSRS by 32 shifts by 31.
    ShiftsByLess,
    /// REVSH leaves the upper half.
    ReversesBoth,
    /// STM and SUB do not look at the stack's limit.
    LimitIgnored,
    /// BL clears bit 0 of LR.
    LinksToArm,
    /// A division takes its least time.
    DividesAtOnce,
    /// An exit forgets which results come late.
    LateForgotten,
    /// An exit within an IT block forgets it.
    ItForgotten,
    /// The path of an IT block whose condition does not hold takes no time.
    SkippedFree,
    /// The MPU refuses no write of a block.
    ReadOnlyWritten,
    /// Code that the MPU forbids is translated.
    NeverExecuted,
    ;
    /// Those of lowering to the code of AArch64 or WebAssembly.
    OF_LOWERING:
    /// CMC leaves the carry.
    CmcForgotten,
    /// The carry of a shift is a bit next to it.
    CarryBesideIt,
    /// The offset of an access with an index is forgotten.
    OffsetForgotten,
    /// DIV divides with signs.
    DivSigned,
    /// A constant that is moved has no bits 16 to 31.
    ConstantHalved,
    /// XOR leaves the flags.
    XorFlagless,
    ;
}

/// The mistake of one chip's translator.
#[derive(Default)]
pub(crate) struct Mistakes {
    #[cfg(feature = "mistakes")]
    pub(crate) made: Option<Mistake>,
    #[cfg(feature = "mistakes")]
    writer: Option<Master>,
}

#[cfg(feature = "mistakes")]
impl Mistakes {
    #[inline]
    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.made == Some(mistake)
    }

    #[inline]
    pub(crate) fn written_by(&mut self, writer: Master) {
        self.writer = Some(writer);
    }

    /// Returns whether to overlook the change of the halfword in `slot`. `sram`: the slots of SRAM, before those of
    /// flash.
    #[inline]
    pub(crate) fn overlook(&self, slot: usize, sram: &Range<usize>) -> bool {
        let by = match self.made {
            Some(Mistake::CoreKeepsBlock) => Master::Core(0),
            Some(Mistake::OtherCoreKeepsBlock) => Master::Core(1),
            Some(Mistake::DmaKeepsBlock) => Master::Dma,
            Some(Mistake::FlashKeepsBlock) => return slot > sram.end,
            _ => return false,
        };
        sram.contains(&slot) && self.writer == Some(by)
    }
}

#[cfg(not(feature = "mistakes"))]
impl Mistakes {
    #[inline(always)]
    pub(crate) const fn makes(&self, _: Mistake) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) const fn written_by(&mut self, _: Master) {}

    #[inline(always)]
    pub(crate) const fn overlook(&self, _: usize, _: &Range<usize>) -> bool {
        false
    }
}
