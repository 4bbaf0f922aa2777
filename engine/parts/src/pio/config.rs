//! Configuration registers of a state machine (datasheet 3.7).

use crate::wires::Version;
use sim::Snapshot;

/// A write to some of the 32 GPIOs that PIO can drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub(crate) struct PinWrite {
    pub(crate) mask: u32,
    pub(crate) value: u32,
}

impl PinWrite {
    /// Returns the `count` least significant bits of `data` on `base` and the pins above it, wrapping after GPIO31.
    fn mapped(data: u32, base: u32, count: u32) -> Self {
        let mask = low_bits(count);
        Self { mask: mask.rotate_left(base), value: (data & mask).rotate_left(base) }
    }

    pub(crate) fn apply(self, old: u32) -> u32 {
        (old & !self.mask) | self.value
    }
}

/// Returns a mask of the `count` (0 to 32) least significant bits.
pub(crate) fn low_bits(count: u32) -> u32 {
    u32::MAX.checked_shr(32 - count.min(32)).unwrap_or(0)
}

#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Config {
    pub(crate) clkdiv: u32,
    /// Bits of EXECCTRL without EXEC_STALLED.
    pub(crate) execctrl: u32,
    pub(crate) shiftctrl: u32,
    pub(crate) pinctrl: u32,
    pub(crate) version: Version,
}

pub(crate) const CLKDIV_MASK: u32 = 0xffff_ff00;
const EXECCTRL_MASK: u32 = 0x7fff_ff9f;
const EXECCTRL_MASK_V1: u32 = 0x7fff_ffff;
pub(crate) const EXEC_STALLED: u32 = 1 << 31;
pub(crate) const SHIFTCTRL_MASK: u32 = 0xffff_0000;
pub(crate) const FJOIN_RX: u32 = 1 << 31;
pub(crate) const FJOIN_TX: u32 = 1 << 30;
const SIDE_EN: u32 = 1 << 30;
const SIDE_PINDIR: u32 = 1 << 29;
const INLINE_OUT_EN: u32 = 1 << 18;
const OUT_STICKY: u32 = 1 << 17;
const STATUS_SEL: u32 = 1 << 4;
/// STATUS_SEL of version 1, whose value 2, the flags, is not modelled.
const STATUS_SEL_V1: u32 = 1 << 5;
/// Bits of an instruction's delay and side-set field.
const FIELD_BITS: u32 = 5;

impl Config {
    /// Returns the writable bits of EXECCTRL.
    pub(crate) fn execctrl_mask(&self) -> u32 {
        match self.version {
            Version::V0 => EXECCTRL_MASK,
            Version::V1 => EXECCTRL_MASK_V1,
        }
    }

    pub(crate) fn new() -> Self {
        Self {
            clkdiv: super::divider::Divider::RESET,
            execctrl: 0x0001_f000,
            shiftctrl: 0x000c_0000,
            pinctrl: 0x1400_0000,
            version: Version::V0,
        }
    }

    pub(crate) fn jmp_pin(&self) -> u32 {
        (self.execctrl >> 24) & 31
    }

    pub(crate) fn wrap_top(&self) -> u32 {
        (self.execctrl >> 12) & 31
    }

    pub(crate) fn wrap_bottom(&self) -> u32 {
        (self.execctrl >> 7) & 31
    }

    pub(crate) fn out_sticky(&self) -> bool {
        self.execctrl & OUT_STICKY != 0
    }

    /// Returns whether OUT, MOV and SET write their pins only once, without sticky or enable bits.
    pub(crate) fn writes_plainly(&self) -> bool {
        self.execctrl & (OUT_STICKY | INLINE_OUT_EN) == 0
    }

    /// Returns whether INLINE_OUT_EN passes `data` to the pins.
    pub(crate) fn out_enabled(&self, data: u32) -> bool {
        self.execctrl & INLINE_OUT_EN == 0 || (data >> ((self.execctrl >> 19) & 31)) & 1 != 0
    }

    /// Returns whether MOV's STATUS compares the RX FIFO's level instead of the TX FIFO's.
    pub(crate) fn status_is_rx(&self) -> bool {
        match self.version {
            Version::V0 => self.execctrl & STATUS_SEL != 0,
            Version::V1 => self.execctrl & STATUS_SEL_V1 != 0,
        }
    }

    pub(crate) fn status_n(&self) -> usize {
        let bits = if self.version == Version::V0 { 15 } else { 31 };
        (self.execctrl & bits) as usize
    }

    pub(crate) fn autopush(&self) -> bool {
        self.shiftctrl & (1 << 16) != 0
    }

    pub(crate) fn autopull(&self) -> bool {
        self.shiftctrl & (1 << 17) != 0
    }

    pub(crate) fn in_shifts_right(&self) -> bool {
        self.shiftctrl & (1 << 18) != 0
    }

    pub(crate) fn out_shifts_right(&self) -> bool {
        self.shiftctrl & (1 << 19) != 0
    }

    /// Returns 1 to 32 bits.
    pub(crate) fn push_threshold(&self) -> u32 {
        bit_count(self.shiftctrl >> 20)
    }

    /// Returns 1 to 32 bits.
    pub(crate) fn pull_threshold(&self) -> u32 {
        bit_count(self.shiftctrl >> 25)
    }

    pub(crate) fn in_base(&self) -> u32 {
        (self.pinctrl >> 15) & 31
    }

    pub(crate) fn out_write(&self, data: u32) -> PinWrite {
        PinWrite::mapped(data, self.pinctrl & 31, (self.pinctrl >> 20) & 63)
    }

    pub(crate) fn set_write(&self, data: u32) -> PinWrite {
        PinWrite::mapped(data, (self.pinctrl >> 5) & 31, ((self.pinctrl >> 26) & 7).min(FIELD_BITS))
    }

    /// Returns the first pin that OUT PINS writes, and their number.
    pub(crate) fn out_pins(&self) -> (u32, u32) {
        (self.pinctrl & 31, (self.pinctrl >> 20) & 63)
    }

    fn sideset_bits(&self) -> u32 {
        (self.pinctrl >> 29).min(FIELD_BITS)
    }

    pub(crate) fn side_is_pindirs(&self) -> bool {
        self.execctrl & SIDE_PINDIR != 0
    }

    /// Returns the side-set of `instruction`; the mask is empty if it has none.
    pub(crate) fn side_write(&self, instruction: u16) -> PinWrite {
        let field = u32::from(instruction >> 8) & 31;
        let bits = self.sideset_bits();
        let optional = bits != 0 && self.execctrl & SIDE_EN != 0;
        if optional && field & 16 == 0 {
            return PinWrite::default();
        }
        PinWrite::mapped(field >> (FIELD_BITS - bits), (self.pinctrl >> 10) & 31, bits - u32::from(optional))
    }

    /// Returns the idle ticks after `instruction`.
    pub(crate) fn delay(&self, instruction: u16) -> u64 {
        u64::from(instruction >> 8) & u64::from(low_bits(FIELD_BITS - self.sideset_bits()))
    }
}

/// Decodes a five-bit count of 1 to 32.
pub(crate) fn bit_count(field: u32) -> u32 {
    match field & 31 {
        0 => 32,
        n => n,
    }
}
