//! PSM: the blocks' bits (datasheet 7.4).

pub use parts::psm::Psm;

/// Bits of every PSM register, in the order of the reset sequence.
pub mod bit {
    pub const PROC_COLD: u32 = 1 << 0;
    pub const OTP: u32 = 1 << 1;
    pub const ROSC: u32 = 1 << 2;
    pub const XOSC: u32 = 1 << 3;
    pub const RESETS: u32 = 1 << 4;
    pub const CLOCKS: u32 = 1 << 5;
    pub const ROM: u32 = 1 << 8;
    pub const BOOTRAM: u32 = 1 << 9;
    pub const XIP: u32 = 1 << 20;
    pub const SIO: u32 = 1 << 21;
    pub const ACCESSCTRL: u32 = 1 << 22;
    pub const PROC0: u32 = 1 << 23;
    pub const PROC1: u32 = 1 << 24;
    pub const ALL: u32 = 0x01ff_ffff;
}

/// Blocks that a running program can reset.
pub(crate) const RESETTABLE: u32 = bit::SIO | bit::ACCESSCTRL | bit::PROC1;
