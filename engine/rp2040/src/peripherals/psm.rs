//! PSM: the blocks' bits (datasheet 2.13).

pub use parts::psm::Psm;

/// Bits of every PSM register, in the order of the reset sequence.
pub mod bit {
    pub const ROSC: u32 = 1 << 0;
    pub const XOSC: u32 = 1 << 1;
    pub const CLOCKS: u32 = 1 << 2;
    pub const RESETS: u32 = 1 << 3;
    pub const ROM: u32 = 1 << 5;
    pub const XIP: u32 = 1 << 12;
    pub const VREG_AND_CHIP_RESET: u32 = 1 << 13;
    pub const SIO: u32 = 1 << 14;
    pub const PROC0: u32 = 1 << 15;
    pub const PROC1: u32 = 1 << 16;
    pub const ALL: u32 = 0x0001_ffff;
}

/// Blocks that a running program can reset.
pub(crate) const RESETTABLE: u32 = bit::SIO | bit::PROC1;
