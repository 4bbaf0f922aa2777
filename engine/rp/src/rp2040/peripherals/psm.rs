//! PSM: the blocks' bits (datasheet 2.13).

pub(crate) use parts::psm::Psm;

/// Bits of every PSM register, in the order of the reset sequence.
pub mod bit {
    pub(crate) const ROSC: u32 = 1 << 0;
    pub(crate) const XOSC: u32 = 1 << 1;
    pub(crate) const CLOCKS: u32 = 1 << 2;
    pub(crate) const RESETS: u32 = 1 << 3;
    pub(crate) const XIP: u32 = 1 << 12;
    /// The cores' single-cycle registers.
    pub const SIO: u32 = 1 << 14;
    /// Core 0.
    pub const PROC0: u32 = 1 << 15;
    /// Core 1.
    pub const PROC1: u32 = 1 << 16;
    /// All blocks.
    pub const ALL: u32 = 0x0001_ffff;
}

/// Blocks that a running program can reset.
pub(crate) const RESETTABLE: u32 = bit::SIO | bit::PROC1;
