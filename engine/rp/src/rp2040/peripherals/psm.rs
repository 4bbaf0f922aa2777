//! PSM: the blocks' bits (datasheet 2.13).

use parts::psm::Bits;

/// Bits of every PSM register, in the order of the reset sequence.
pub const BITS: Bits = Bits {
    rosc: 1 << 0,
    xosc: 1 << 1,
    clocks: 1 << 2,
    resets: 1 << 3,
    xip: 1 << 12,
    sio: 1 << 14,
    proc0: 1 << 15,
    proc1: 1 << 16,
    all: 0x0001_ffff,
    resettable: 1 << 14 | 1 << 16,
};
