//! PSM: the blocks' bits (datasheet 7.4).

pub(crate) use parts::psm::Psm;

/// Bits of every PSM register, in the order of the reset sequence.
pub(crate) mod bit {
    pub(crate) const PROC_COLD: u32 = 1 << 0;
    pub(crate) const OTP: u32 = 1 << 1;
    pub(crate) const ROSC: u32 = 1 << 2;
    pub(crate) const XOSC: u32 = 1 << 3;
    pub(crate) const RESETS: u32 = 1 << 4;
    pub(crate) const CLOCKS: u32 = 1 << 5;
    pub(crate) const BOOTRAM: u32 = 1 << 9;
    pub(crate) const XIP: u32 = 1 << 20;
    pub(crate) const SIO: u32 = 1 << 21;
    pub(crate) const ACCESSCTRL: u32 = 1 << 22;
    pub(crate) const PROC0: u32 = 1 << 23;
    pub(crate) const PROC1: u32 = 1 << 24;
    pub(crate) const ALL: u32 = 0x01ff_ffff;
}

/// Blocks that a running program can reset.
pub(crate) const RESETTABLE: u32 = bit::SIO | bit::ACCESSCTRL | bit::PROC1;
