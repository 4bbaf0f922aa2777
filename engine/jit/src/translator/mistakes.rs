//! Deliberate mistakes of the translator, each of which its fuzz has to find.
//!
//! Only the feature `mistakes`, which a chip's tests turn on, makes any; without it all checks are constants.

use std::ops::Range;

use cpu::Master;

macro_rules! mistakes {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// A deliberate mistake of the translator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(feature = "mistakes"), allow(dead_code, reason = "only the feature looks for some"))]
        pub enum Mistake {
            $($(#[$about])* $name,)*
        }

        #[cfg(feature = "mistakes")]
        impl Mistake {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

mistakes! {
    /// A load from SRAM takes one cycle.
    LoadTakesOneCycle,
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
    /// STM and PUSH check only their first word for code.
    LastWordIntoCode,
    /// A comparison sets no flags.
    FlagsOfCompare,
    /// An exit forgets the flags that the block has left out.
    FlagsForgotten,
    /// Flags that are left out are computed from registers that have changed.
    FlagsLost,
    /// ADDS with a constant does not set V.
    OverflowOfAdd,
    /// ADR does not align the PC.
    AdrUnaligned,
    /// LDM writes its base back although it is in the list.
    LdmWritesBack,
    /// BL does not fetch the word after its second halfword.
    BlFetchesOnce,
    /// BX and BLX ignore bit 0 of the target.
    BxToArm,
    /// POP and BX ignore bit 0 of the target.
    PopToArm,
    /// POP and BX take the end of an exception for a branch.
    ExceptionReturn,
    /// BLX clears bit 0 of LR.
    BlxLinksToArm,
    /// A move to SP keeps the lowest bits.
    SpUnaligned,
    /// SBCS ignores the carry.
    SbcWithoutBorrow,
    /// LSRS by a constant does not set C.
    CarryOfShift,
    /// A shift by a register that is 0 changes C.
    CarryOfShiftByZero,
    /// LSLS by 32 clears C.
    ShiftByWidth,
    /// After a taken branch, an interrupt waits for one more instruction.
    LimitAfterBlock,
    /// After other instructions, an interrupt waits for one more.
    LimitAfterInstruction,
    /// A branch that is not taken takes two cycles.
    UntakenBranchTakesTwo,
    /// BHI ignores Z.
    HigherOrSame,
    /// BGE does not branch after equal values.
    GreaterWithoutEqual,
    /// A block contains one instruction behind its region.
    PastEnd,
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
    /// The uncached alias of flash is read through the cache.
    UncachedAliasCached,
    /// The interpreter fetches the block's last word again.
    WordFetchedAgain,
    /// A block continues after an access that needs attention.
    EventOverlooked,
    /// Accesses to SRAM5 are not counted.
    Sram5NotCounted,
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
