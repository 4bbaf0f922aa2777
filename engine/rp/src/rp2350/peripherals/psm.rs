//! PSM: the blocks' bits (datasheet 7.4).

use parts::psm::Bits;

pub(crate) const PROC_COLD: u32 = 1 << 0;
pub(crate) const OTP: u32 = 1 << 1;
pub(crate) const BOOTRAM: u32 = 1 << 9;
pub(crate) const ACCESSCTRL: u32 = 1 << 22;

/// Bits of every PSM register, in the order of the reset sequence.
pub(crate) const BITS: Bits = Bits {
    rosc: 1 << 2,
    xosc: 1 << 3,
    resets: 1 << 4,
    clocks: 1 << 5,
    xip: 1 << 20,
    sio: 1 << 21,
    proc0: 1 << 23,
    proc1: 1 << 24,
    all: 0x01ff_ffff,
    resettable: 1 << 21 | ACCESSCTRL | 1 << 24,
};
