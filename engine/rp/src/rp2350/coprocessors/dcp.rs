//! DCP, the double-precision coprocessor (datasheet 3.6.2): unpacked numbers, an adder and a shifter, from which canned
//! sequences of instructions make IEEE's operations.
//!
//! The datasheet lists each instruction's effect in a line. Where a sequence cannot tell, this model decides: a special
//! case is settled by the instruction that joins X and Y, not by the one that reads the result. Assumed, since nothing
//! is published: the bits of most NaNs, the order of the flags, the place of the status in a saved state, and both tables
//! of first approximations; a fast division or root may so differ in its last bit from the chip's. pico-sdk's test `m33`
//! has the bits of two NaNs: a product keeps those of Y, and the root of a negative number its sign.

use super::rcp::Fields;
use sim::Snapshot;

/// Flags of a number, in the order in which the processor's N, Z, C and V receive them.
const SIGN: u32 = 8;
const ZERO: u32 = 4;
const INFINITE: u32 = 2;
const NAN: u32 = 1;
const SPECIAL: u32 = ZERO | INFINITE | NAN;

const BIAS: i32 = 0x3ff;
/// What a single's exponent lacks.
const REBIAS: i32 = BIAS - 0x7f;
/// Mantissas are Q62: bit 62 is a 1 before the binary point.
const ONE: u64 = 1 << 62;
/// Bits of a mantissa below a double's and a single's.
const BELOW_DOUBLE: u32 = 10;
const BELOW_SINGLE: u32 = 39;
/// 2^52 + 2^32, which lines an integer up with a double's mantissa: its exponent, and its integer value.
const OFFSET_EXPONENT: i32 = BIAS + 52;
const OFFSET: i128 = (1 << 52) + (1 << 32);
const OFFSET_NUMBER: Number = Number { mantissa: ONE | 1 << 42, exponent: OFFSET_EXPONENT, flags: 0 };
/// Greatest alignment of a sum: the status has six bits for it.
const MOST_SHIFT: u32 = 63;
/// Quiet, with the sign that is joined to it.
const DOUBLE_NAN: u64 = 0x7ff8 << 48;
const SINGLE_NAN: u32 = 0x7fc0 << 16;
/// Status of the comparison that reads as equal, and as greater or equal.
const COMPARED_EQUAL: u32 = 1 << 30;
const COMPARED_NOT_LESS: u32 = 1 << 29;
const COMPARED_UNORDERED: u32 = 1 << 28;
const COMPARED_ENGAGED: u32 = 1 << 31;

/// There is no such instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// An unpacked number: mantissa * 2^(exponent - [`BIAS`] - 62).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
struct Number {
    mantissa: u64,
    /// 14 bits with sign.
    exponent: i32,
    flags: u32,
}

/// Shifts right; bits that leave are joined in bit 0.
fn shift_sticky(value: u64, places: u32) -> u64 {
    let lost = value & ((1u64 << places) - 1);
    value >> places | u64::from(lost != 0)
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn split(value: u64) -> (u32, u32) {
    (value as u32, (value >> 32) as u32)
}

impl Number {
    /// Unpacks a number with `bits` of exponent; a subnormal is a zero.
    fn unpack(sign: bool, exponent: u32, bits: u32, fraction: u64, rebias: i32) -> Self {
        let greatest = (1 << bits) - 1;
        let class = match (exponent, fraction) {
            (0, _) => ZERO,
            (e, 0) if e == greatest => INFINITE,
            (e, _) if e == greatest => NAN,
            _ => 0,
        };
        let flags = class | if sign { SIGN } else { 0 };
        match class {
            ZERO => Self { mantissa: ONE, exponent: 0, flags },
            INFINITE | NAN => Self { mantissa: ONE | fraction, exponent: 0x7ff, flags },
            _ => Self { mantissa: ONE | fraction, exponent: exponent as i32 + rebias, flags },
        }
    }

    fn double(low: u32, high: u32) -> Self {
        let fraction = (join(low, high) & ((1 << 52) - 1)) << BELOW_DOUBLE;
        Self::unpack(high >> 31 != 0, high >> 20 & 0x7ff, 11, fraction, 0)
    }

    fn single(value: u32) -> Self {
        let fraction = u64::from(value & 0x7f_ffff) << BELOW_SINGLE;
        Self::unpack(value >> 31 != 0, value >> 23 & 0xff, 8, fraction, REBIAS)
    }

    /// Returns `value` + 2^52 + 2^32.
    fn offset(value: i64) -> Self {
        let mantissa = (OFFSET as i64 + value) as u64;
        Self { mantissa: mantissa << BELOW_DOUBLE, exponent: OFFSET_EXPONENT, flags: 0 }
    }

    fn is(self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Takes the class `class`, and keeps the sign.
    fn become_class(&mut self, class: u32) {
        self.flags = self.flags & SIGN | class;
    }

    /// Moves the first 1 of the mantissa to bit 62.
    fn normalise(&mut self) {
        match self.mantissa.leading_zeros() {
            64 => self.become_class(self.flags & (INFINITE | NAN) | ZERO),
            0 => {
                self.mantissa = shift_sticky(self.mantissa, 1);
                self.exponent += 1;
            }
            zeros => {
                self.mantissa <<= zeros - 1;
                self.exponent -= zeros as i32 - 1;
            }
        }
    }

    /// Rounds to nearest, a tie to even, without the lowest `below` bits.
    fn round(&mut self, below: u32) {
        self.normalise();
        let odd = self.mantissa >> below & 1;
        self.mantissa = (self.mantissa + (1 << (below - 1)) - 1 + odd) >> below << below;
        if self.mantissa > u64::MAX / 2 {
            self.mantissa >>= 1;
            self.exponent += 1;
        }
    }

    /// Makes the sum with 2^52 + 2^32 that this number is one of an integer and them.
    fn become_integer(&mut self, nearest: bool) {
        if self.is(INFINITE | NAN) {
            return;
        }
        // All bits left of the greatest alignment are far beyond an integer.
        let below = OFFSET_EXPONENT - self.exponent;
        let magnitude = match u32::try_from(below) {
            Ok(places) => i128::from(shift_sticky(self.mantissa, places.min(MOST_SHIFT))),
            Err(_) => i128::from(self.mantissa) << (-below).min(40),
        };
        let sum = if self.is(SIGN) { -magnitude } else { magnitude };
        let value = sum - (OFFSET << BELOW_DOUBLE);
        let (half, odd) = (1 << (BELOW_DOUBLE - 1), value >> BELOW_DOUBLE & 1);
        let integer = match (nearest, value < 0) {
            (true, _) => (value + half - 1 + odd) >> BELOW_DOUBLE,
            (false, false) => value >> BELOW_DOUBLE,
            (false, true) => -(-value >> BELOW_DOUBLE),
        };
        *self = Self::offset(integer.clamp(-1 << 33, 1 << 33) as i64);
    }

    /// Returns the integer that [`Self::become_integer`] made, or the nearest one of `least` to `most`.
    fn integer(self, least: i64, most: i64) -> u32 {
        let value = match (self.is(INFINITE | NAN), self.is(SIGN)) {
            (true, true) => least,
            (true, false) => most,
            _ => (self.mantissa >> BELOW_DOUBLE) as i64 - OFFSET as i64,
        };
        value.clamp(least, most) as u32
    }

    fn packed_double(self) -> u64 {
        let magnitude = if self.is(NAN) {
            DOUBLE_NAN
        } else if self.is(INFINITE) || !self.is(ZERO) && self.exponent >= 0x7ff {
            0x7ff << 52
        } else if self.is(ZERO) || self.exponent <= 0 {
            0
        } else {
            (self.exponent as u64) << 52 | (self.mantissa & (ONE - 1)) >> BELOW_DOUBLE
        };
        u64::from(self.is(SIGN)) << 63 | magnitude
    }

    fn packed_single(self) -> u32 {
        let exponent = self.exponent - REBIAS;
        let magnitude = if self.is(NAN) {
            SINGLE_NAN
        } else if self.is(INFINITE) || !self.is(ZERO) && exponent >= 0xff {
            0xff << 23
        } else if self.is(ZERO) || exponent <= 0 {
            0
        } else {
            (exponent as u32) << 23 | ((self.mantissa & (ONE - 1)) >> BELOW_SINGLE) as u32
        };
        u32::from(self.is(SIGN)) << 31 | magnitude
    }

    /// Returns flags and exponent as the saved state has them.
    fn saved(self) -> u32 {
        self.flags << 28 | self.exponent as u32 & 0x3fff
    }

    fn restore(&mut self, word: u32) {
        (self.flags, self.exponent) = (word >> 28, (word << 18) as i32 >> 18);
    }
}

/// One instance: that of a core and a security state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Dcp {
    x: Number,
    y: Number,
    /// Places by which a sum's smaller operand moves.
    shift: u32,
    /// How the magnitude of X compares with that of Y.
    greater: bool,
    less: bool,
    /// In the middle of a sequence.
    engaged: bool,
}

impl Dcp {
    /// Executes CDP.
    pub fn cdp(&mut self, fields: Fields, crd: u32) -> Result<(), Unknown> {
        self.engaged = true;
        match (fields.opc1, crd, fields.crn, fields.crm, fields.opc2) {
            (0, 0, 0, 0, 0) => *self = Self::default(),
            (0, 0, 0, 1, 0) => self.compare(),
            (1, 0, 0, 1, 0) => self.add(0),
            (1, 0, 0, 1, 1) => self.add(SIGN),
            (2, 0, 0, 1, 0) => self.halve_exponent(),
            (8, 0, 0, 2, 0) => self.x.normalise(),
            (8, 0, 0, 2, 1) => self.x.round(BELOW_SINGLE),
            (8, 0, 0, 0, 1) => self.x.round(BELOW_DOUBLE),
            (8, 0, 0, 0, 2) => self.x.become_integer(false),
            (8, 0, 0, 0, 3) => self.x.become_integer(true),
            _ => return Err(Unknown),
        }
        Ok(())
    }

    /// Executes MCRR.
    pub fn mcrr(&mut self, opc1: u32, crm: u32, low: u32, high: u32) -> Result<(), Unknown> {
        let data = join(low, high);
        let engaged = std::mem::replace(&mut self.engaged, true);
        match (opc1, crm) {
            (0, 0 | 1) => {
                // A part of a state that is restored: WEFD, the last one, says whether it is engaged.
                self.engaged = engaged;
                if crm == 0 { self.x.mantissa = data } else { self.y.mantissa = data }
            }
            (0, 2) => {
                self.x.restore(low);
                self.y.restore(high);
                let bit = |bit: u32| low & bit != 0;
                self.shift = low >> 14 & MOST_SHIFT;
                (self.greater, self.less, self.engaged) = (bit(1 << 20), bit(1 << 21), bit(1 << 22));
            }
            (1, 0) => self.x = Number::double(low, high),
            (1, 1) => self.y = Number::double(low, high),
            (1, 2) => (self.x, self.y) = (Number::single(low), Number::single(high)),
            (2, 0) => self.x.mantissa = u64::from(data != 0),
            (3, 0) => self.take_product(data | self.x.mantissa & 1),
            // A quotient is Q57 for doubles, and Q61 for singles.
            (4, 0) => self.take_quotient(data, 5),
            (11, 0) => self.take_quotient(data, 1),
            // A root is Q60 for doubles, and Q61 for singles.
            (5, 0) => self.take_root(data, 2),
            (12, 0) => self.take_root(data, 1),
            (6, 0) => (self.x, self.y) = (Number::offset(i64::from(low)), OFFSET_NUMBER),
            (7, 0) => (self.x, self.y) = (Number::offset(i64::from(low as i32)), OFFSET_NUMBER),
            (8, 0) => (self.x, self.y) = (Number::double(low, high), OFFSET_NUMBER),
            (9, 2) => (self.x, self.y) = (Number::single(low), OFFSET_NUMBER),
            (10, 0) => self.take_product(data),
            _ => return Err(Unknown),
        }
        Ok(())
    }

    /// Executes MRC, or MRC2, which only peeks.
    pub fn mrc(&mut self, fields: Fields) -> Result<u32, Unknown> {
        let value = match (fields.opc1, fields.crn, fields.crm, fields.opc2) {
            // Its version is 0.
            (0, 0, 0, 0) => self.x.flags << 28,
            (0, 0, 0, 1) => self.compared(),
            (0, 0, 2, 0..=5) => self.x.packed_single(),
            (0, 0, 3, 0) => self.x.integer(i32::MIN.into(), i32::MAX.into()),
            (0, 0, 3, 1) => self.x.integer(0, u32::MAX.into()),
            _ => return Err(Unknown),
        };
        self.engaged &= fields.second;
        Ok(value)
    }

    /// Executes MRRC, or MRRC2 (`peek`).
    pub fn mrrc(&mut self, opc1: u32, crm: u32, peek: bool) -> Result<(u32, u32), Unknown> {
        let (x, y) = (self.x.mantissa, self.y.mantissa);
        let high = |value: u64| (value >> 32) as u32;
        let (value, ends) = match (opc1, crm) {
            (0, 8) => (split(x), false),
            (0, 9) => (split(y), true),
            (0, 10) => ((self.x.saved() | self.status() << 14, self.y.saved()), false),
            (places, 4) => (split(x >> places), false),
            (places, 5) => (split(y >> places), false),
            (1, 1) => ((high(x), high(y)), false),
            // Both of this one are Q31, so that the high word of their product is 1.0 at 2^30.
            (2, 1) => ((reciprocal(y), high(y << 1)), false),
            (4, 1) => ((reciprocal_root(x), high(x)), false),
            (5, 0) => (split(self.packed_product()), true),
            (1 | 3 | 7 | 9 | 11, 0) => (split(self.x.packed_double()), true),
            _ => return Err(Unknown),
        };
        self.engaged &= peek || !ends;
        Ok(value)
    }

    fn status(&self) -> u32 {
        let bit = |place: u32, set: bool| u32::from(set) << place;
        self.shift | bit(6, self.greater) | bit(7, self.less) | bit(8, self.engaged)
    }

    /// Compares the magnitudes.
    fn compare(&mut self) {
        let order = (self.x.exponent, self.x.mantissa).cmp(&(self.y.exponent, self.y.mantissa));
        (self.greater, self.less) = (order.is_gt(), order.is_lt());
        self.shift = self.x.exponent.abs_diff(self.y.exponent).min(MOST_SHIFT);
    }

    /// Returns the comparison of both numbers as flags of the processor.
    fn compared(&self) -> u32 {
        let engaged = if self.engaged { COMPARED_ENGAGED } else { 0 };
        let (x, y) = (self.x, self.y);
        let (less, greater) = match (x.is(SIGN), y.is(SIGN)) {
            _ if x.is(ZERO) && y.is(ZERO) => (false, false),
            (false, false) => (self.less, self.greater),
            (true, true) => (self.greater, self.less),
            (negative, _) => (negative, !negative),
        };
        engaged
            | match (less, greater) {
                _ if (x.flags | y.flags) & NAN != 0 => COMPARED_UNORDERED,
                (true, _) => 0,
                (false, true) => COMPARED_NOT_LESS,
                (false, false) => COMPARED_NOT_LESS | COMPARED_EQUAL,
            }
    }

    /// Adds Y to X; `negate`: subtracts it. The smaller one is aligned as [`Self::compare`] found.
    fn add(&mut self, negate: u32) {
        let y = Number { flags: self.y.flags ^ negate, ..self.y };
        let x = &mut self.x;
        let opposite = (x.flags ^ y.flags) & SIGN != 0;
        if (x.flags | y.flags) & (INFINITE | NAN) != 0 {
            if x.is(INFINITE) && y.is(INFINITE) && opposite {
                x.flags = NAN;
            } else if y.is(NAN) && !x.is(NAN) || y.is(INFINITE) && !x.is(INFINITE | NAN) {
                x.flags = y.flags;
            }
            return;
        }
        let (large, small) = if self.less { (y, *x) } else { (*x, y) };
        let value = |number: Number| if number.is(ZERO) { 0 } else { number.mantissa };
        let aligned = shift_sticky(value(small), self.shift);
        let mantissa = if opposite { value(large).wrapping_sub(aligned) } else { value(large).wrapping_add(aligned) };
        let sign = if mantissa == 0 && opposite { 0 } else { large.flags & SIGN };
        *x = Number { mantissa, exponent: large.exponent, flags: sign | if mantissa == 0 { ZERO } else { 0 } };
    }

    /// Takes half of X's exponent, and the odd one into the mantissa, which is then below 4.
    fn halve_exponent(&mut self) {
        let exponent = self.x.exponent - BIAS;
        self.x.mantissa <<= exponent & 1;
        self.x.exponent = BIAS + (exponent >> 1);
    }

    fn join_signs(&mut self) {
        self.x.flags ^= self.y.flags & SIGN;
    }

    /// Takes the product of both mantissas, in Q60.
    fn take_product(&mut self, mantissa: u64) {
        self.join_signs();
        let any = self.x.flags | self.y.flags;
        self.x.mantissa = mantissa;
        self.x.exponent += self.y.exponent - BIAS + 2;
        self.x.become_class(match any & SPECIAL {
            0 => 0,
            ZERO => ZERO,
            INFINITE => INFINITE,
            _ => NAN,
        });
    }

    /// Returns the product as RDDM reads it.
    fn packed_product(&self) -> u64 {
        let payload = if self.y.is(NAN) { (self.y.mantissa & (ONE - 1)) >> BELOW_DOUBLE } else { 0 };
        self.x.packed_double() | payload
    }

    /// Takes the quotient of both mantissas, `places` below Q62.
    fn take_quotient(&mut self, mantissa: u64, places: i32) {
        self.join_signs();
        let (x, y) = (self.x.flags & SPECIAL, self.y.flags & SPECIAL);
        self.x.mantissa = mantissa;
        self.x.exponent += BIAS + places - self.y.exponent;
        self.x.become_class(match (x, y) {
            (0, 0) => 0,
            (NAN, _) | (_, NAN) | (ZERO, ZERO) | (INFINITE, INFINITE) => NAN,
            (INFINITE, _) | (_, ZERO) => INFINITE,
            _ => ZERO,
        });
    }

    /// Takes the root of X, `places` below Q62.
    fn take_root(&mut self, mantissa: u64, places: i32) {
        self.x.mantissa = mantissa;
        self.x.exponent += places;
        if self.x.is(SIGN) && !self.x.is(ZERO | NAN) {
            self.x.become_class(NAN);
        }
    }
}

/// Returns the first approximation of 1 / y in Q31, by the 8 bits below the first one.
fn reciprocal(mantissa: u64) -> u32 {
    let middle = (mantissa >> 54 & 0xff) * 2 + 0x201;
    ((1u64 << 40) / middle) as u32
}

/// Returns the first approximation of 1 / sqrt(x) in Q31, for x of 1 to 4 in Q62, by its upper 9 bits.
fn reciprocal_root(mantissa: u64) -> u32 {
    let middle = u128::from(mantissa >> 55) * 2 + 1;
    ((1u128 << 70) / middle).isqrt() as u32
}

#[cfg(test)]
mod tests;
