//! Single-precision arithmetic with every rounding mode and flag, on integers: exact, and the same on every PC.

/// Bits of FPSCR that say what happened.
pub(crate) mod exception {
    pub(crate) const INVALID: u32 = 1;
    pub(crate) const DIVIDE_BY_ZERO: u32 = 2;
    pub(crate) const OVERFLOW: u32 = 4;
    pub(crate) const UNDERFLOW: u32 = 8;
    pub(crate) const INEXACT: u32 = 16;
    pub(crate) const DENORMAL: u32 = 128;
}
use exception::{DENORMAL, DIVIDE_BY_ZERO, INEXACT, INVALID, OVERFLOW, UNDERFLOW};

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
const QUIET: u32 = 1 << 22;
const DEFAULT_NAN: u32 = 0x7fc0_0000;
/// Exponent of the least bit of a denormal number.
const LEAST: i32 = -149;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    NearestEven,
    Up,
    Down,
    Zero,
    NearestAway,
}

/// The modes, and the flags so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Float {
    pub rounding: Rounding,
    pub flush: bool,
    pub default_nan: bool,
    pub alternative_half: bool,
    pub flags: u32,
}

/// A number as (-1)^sign * bits * 2^exponent.
#[derive(Clone, Copy)]
struct Number {
    sign: bool,
    exponent: i32,
    bits: u128,
}

fn is_nan(x: u32) -> bool {
    x & !SIGN > INFINITY
}

fn is_signalling(x: u32) -> bool {
    is_nan(x) && x & QUIET == 0
}

fn is_infinite(x: u32) -> bool {
    x & !SIGN == INFINITY
}

fn is_zero(x: u32) -> bool {
    x & !SIGN == 0
}

fn number(x: u32) -> Number {
    let (field, fraction) = ((x >> 23 & 0xff) as i32, u128::from(x & 0x7f_ffff));
    let (exponent, bits) = if field == 0 { (LEAST, fraction) } else { (field - 150, fraction | 1 << 23) };
    Number { sign: x & SIGN != 0, exponent, bits }
}

/// Divides by 2^`shift` and rounds: the result, and whether it is inexact.
fn round_off(bits: u128, shift: u32, sign: bool, rounding: Rounding) -> (u128, bool) {
    if shift == 0 {
        return (bits, false);
    }
    let (whole, rest) = if shift > 127 { (0, bits) } else { (bits >> shift, bits & ((1 << shift) - 1)) };
    let half = if shift > 127 { u128::MAX } else { 1 << (shift - 1) };
    let up = match rounding {
        Rounding::NearestEven => rest > half || rest == half && whole & 1 != 0,
        Rounding::NearestAway => rest >= half,
        Rounding::Up => !sign && rest != 0,
        Rounding::Down => sign && rest != 0,
        Rounding::Zero => false,
    };
    (whole + u128::from(up), rest != 0)
}

impl Float {
    /// Replaces a denormal operand by zero where FZ is set.
    fn operand(&mut self, x: u32) -> u32 {
        if self.flush && x & INFINITY == 0 && !is_zero(x) {
            self.flags |= DENORMAL;
            return x & SIGN;
        }
        x
    }

    fn quieted(&mut self, x: u32) -> u32 {
        if is_signalling(x) {
            self.flags |= INVALID;
        }
        if self.default_nan { DEFAULT_NAN } else { x | QUIET }
    }

    /// Returns the NaN that follows from operands with a NaN: the first signalling one, or the first.
    fn nan(&mut self, operands: &[u32]) -> Option<u32> {
        let found = operands.iter().find(|&&x| is_signalling(x)).or_else(|| operands.iter().find(|&&x| is_nan(x)))?;
        Some(self.quieted(*found))
    }

    fn invalid(&mut self) -> u32 {
        self.flags |= INVALID;
        DEFAULT_NAN
    }

    /// Rounds to a single.
    fn pack(&mut self, x: Number) -> u32 {
        let sign = if x.sign { SIGN } else { 0 };
        if x.bits == 0 {
            return sign;
        }
        let top = x.exponent + 127 - x.bits.leading_zeros() as i32;
        let tiny = top < -126;
        if tiny && self.flush {
            self.flags |= UNDERFLOW;
            return sign;
        }
        let least = (top - 23).max(LEAST);
        let (bits, inexact) = if least <= x.exponent {
            (x.bits << (x.exponent - least), false)
        } else {
            round_off(x.bits, (least - x.exponent) as u32, x.sign, self.rounding)
        };
        let packed = ((least - LEAST) as u64) << 23;
        let packed = packed + bits as u64;
        if packed >= u64::from(INFINITY) {
            self.flags |= OVERFLOW | INEXACT;
            let away = match self.rounding {
                Rounding::Up => !x.sign,
                Rounding::Down => x.sign,
                Rounding::Zero => false,
                _ => true,
            };
            return sign | if away { INFINITY } else { INFINITY - 1 };
        }
        if inexact {
            self.flags |= INEXACT | if tiny { UNDERFLOW } else { 0 };
        }
        sign | packed as u32
    }

    fn sum(&mut self, x: Number, y: Number) -> u32 {
        let (high, low) = if x.exponent >= y.exponent { (x, y) } else { (y, x) };
        // Beyond these bits only whether anything is there counts.
        let apart = (high.exponent - low.exponent).min(70);
        let exponent = high.exponent - apart;
        let low_bits = if high.exponent - low.exponent > 70 { u128::from(low.bits != 0) } else { low.bits };
        let signed = |bits: u128, sign: bool| if sign { -(bits as i128) } else { bits as i128 };
        let total = signed(high.bits << apart, high.sign) + signed(low_bits, low.sign);
        if total == 0 {
            let both = x.sign && y.sign;
            let sign = both || (x.sign || y.sign) && self.rounding == Rounding::Down;
            return if sign { SIGN } else { 0 };
        }
        self.pack(Number { sign: total < 0, exponent, bits: total.unsigned_abs() })
    }

    /// Returns the PC's own result if it is sure to be right: usual numbers, and nothing new to flag.
    #[inline]
    fn native(&self, x: u32, y: u32, result: f32) -> Option<u32> {
        let usual = |x: u32| (x >> 23 & 0xff).wrapping_sub(1) < 254;
        let bits = result.to_bits();
        let plain = self.flags & INEXACT != 0 && self.rounding == Rounding::NearestEven;
        let safe = (bits >> 23 & 0xff).wrapping_sub(2) < 252;
        (plain && usual(x) && usual(y) && safe).then_some(bits)
    }

    pub(crate) fn add(&mut self, x: u32, y: u32) -> u32 {
        if let Some(sum) = self.native(x, y, f32::from_bits(x) + f32::from_bits(y)) {
            return sum;
        }
        let (x, y) = (self.operand(x), self.operand(y));
        if let Some(nan) = self.nan(&[x, y]) {
            return nan;
        }
        match (is_infinite(x), is_infinite(y)) {
            (true, true) if x != y => self.invalid(),
            (true, _) => x,
            (_, true) => y,
            _ => self.sum(number(x), number(y)),
        }
    }

    pub(crate) fn sub(&mut self, x: u32, y: u32) -> u32 {
        // A NaN keeps its sign.
        if is_nan(y) && !is_nan(x) || is_nan(x) && is_nan(y) {
            let (x, y) = (self.operand(x), self.operand(y));
            return self.nan(&[x, y]).unwrap_or(DEFAULT_NAN);
        }
        self.add(x, y ^ SIGN)
    }

    pub(crate) fn mul(&mut self, x: u32, y: u32) -> u32 {
        if let Some(product) = self.native(x, y, f32::from_bits(x) * f32::from_bits(y)) {
            return product;
        }
        let (x, y) = (self.operand(x), self.operand(y));
        if let Some(nan) = self.nan(&[x, y]) {
            return nan;
        }
        let sign = (x ^ y) & SIGN;
        if is_infinite(x) || is_infinite(y) {
            return if is_zero(x) || is_zero(y) { self.invalid() } else { sign | INFINITY };
        }
        let (a, b) = (number(x), number(y));
        self.pack(Number { sign: sign != 0, exponent: a.exponent + b.exponent, bits: a.bits * b.bits })
    }

    /// Returns `z` + `x` * `y`, rounded once.
    pub(crate) fn fma(&mut self, z: u32, x: u32, y: u32) -> u32 {
        let (z, x, y) = (self.operand(z), self.operand(x), self.operand(y));
        let impossible = is_infinite(x) && is_zero(y) || is_zero(x) && is_infinite(y);
        if impossible && is_nan(z) && !is_signalling(z) {
            return self.invalid();
        }
        if let Some(nan) = self.nan(&[z, x, y]) {
            return nan;
        }
        let sign = (x ^ y) & SIGN;
        let infinite = is_infinite(x) || is_infinite(y);
        if impossible || infinite && is_infinite(z) && z & SIGN != sign {
            return self.invalid();
        }
        if infinite {
            return sign | INFINITY;
        }
        if is_infinite(z) {
            return z;
        }
        let (a, b) = (number(x), number(y));
        let product = Number { sign: sign != 0, exponent: a.exponent + b.exponent, bits: a.bits * b.bits };
        self.sum(number(z), product)
    }

    pub(crate) fn div(&mut self, x: u32, y: u32) -> u32 {
        if let Some(quotient) = self.native(x, y, f32::from_bits(x) / f32::from_bits(y)) {
            return quotient;
        }
        let (x, y) = (self.operand(x), self.operand(y));
        if let Some(nan) = self.nan(&[x, y]) {
            return nan;
        }
        let sign = (x ^ y) & SIGN;
        match (is_infinite(x), is_infinite(y), is_zero(x), is_zero(y)) {
            (true, true, ..) | (_, _, true, true) => self.invalid(),
            (true, ..) => sign | INFINITY,
            (_, true, ..) | (_, _, true, _) => sign,
            (.., true) => {
                self.flags |= DIVIDE_BY_ZERO;
                sign | INFINITY
            }
            _ => {
                let (a, b) = (number(x), number(y));
                let (bits, exponent) = (a.bits << 64, a.exponent - b.exponent - 64);
                let quotient = (bits / b.bits) << 1 | u128::from(bits % b.bits != 0);
                self.pack(Number { sign: sign != 0, exponent: exponent - 1, bits: quotient })
            }
        }
    }

    pub(crate) fn sqrt(&mut self, x: u32) -> u32 {
        let x = self.operand(x);
        if let Some(nan) = self.nan(&[x]) {
            return nan;
        }
        if is_zero(x) || x == INFINITY {
            return x;
        }
        if x & SIGN != 0 {
            return self.invalid();
        }
        let a = number(x);
        let (bits, exponent) = if a.exponent & 1 != 0 { (a.bits << 1, a.exponent - 1) } else { (a.bits, a.exponent) };
        let bits = bits << 80;
        let root = bits.isqrt();
        let bits = root << 1 | u128::from(root * root != bits);
        self.pack(Number { sign: false, exponent: (exponent - 80) / 2 - 1, bits })
    }

    /// Returns N, Z, C and V as VCMP sets them. `signals`: a quiet NaN is invalid, too.
    pub(crate) fn compare(&mut self, x: u32, y: u32, signals: bool) -> u32 {
        let (x, y) = (self.operand(x), self.operand(y));
        if is_nan(x) || is_nan(y) {
            if signals || is_signalling(x) || is_signalling(y) {
                self.flags |= INVALID;
            }
            return 0x3000_0000;
        }
        let order = |x: u32| if x & SIGN != 0 { -i64::from(x & !SIGN) } else { i64::from(x) };
        match order(x).cmp(&order(y)) {
            std::cmp::Ordering::Equal => 0x6000_0000,
            std::cmp::Ordering::Less => 0x8000_0000,
            std::cmp::Ordering::Greater => 0x2000_0000,
        }
    }

    /// VMAXNM and VMINNM: a number beats a quiet NaN.
    pub(crate) fn extreme(&mut self, x: u32, y: u32, least: bool) -> u32 {
        let (x, y) = (self.operand(x), self.operand(y));
        let quiet = |x| is_nan(x) && !is_signalling(x);
        match (quiet(x), quiet(y)) {
            (true, false) if !is_nan(y) => return y,
            (false, true) if !is_nan(x) => return x,
            _ => {}
        }
        if let Some(nan) = self.nan(&[x, y]) {
            return nan;
        }
        let order = |x: u32| if x & SIGN != 0 { -1 - i64::from(x & !SIGN) } else { i64::from(x) };
        if (order(x) < order(y)) == least { x } else { y }
    }

    /// Rounds to an integer in a single. `exact`: an inexact result is flagged.
    pub(crate) fn round(&mut self, x: u32, rounding: Rounding, exact: bool) -> u32 {
        let x = self.operand(x);
        if let Some(nan) = self.nan(&[x]) {
            return nan;
        }
        let a = number(x);
        if is_infinite(x) || is_zero(x) || a.exponent >= 0 {
            return x;
        }
        let (bits, inexact) = round_off(a.bits, (-a.exponent) as u32, a.sign, rounding);
        if exact && inexact {
            self.flags |= INEXACT;
        }
        let mut fine = *self;
        fine.pack(Number { sign: a.sign, exponent: 0, bits })
    }

    /// Converts to an integer of `bits` with `fraction` bits after the point; it saturates.
    pub(crate) fn integer(&mut self, x: u32, bits: u32, signed: bool, fraction: u32, rounding: Rounding) -> u32 {
        let x = self.operand(x);
        let (least, most) = if signed { (-1_i128 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        if is_nan(x) {
            self.flags |= INVALID;
            return 0;
        }
        let a = number(x);
        let exponent = a.exponent + fraction as i32;
        let (whole, inexact) = match exponent {
            _ if is_infinite(x) || exponent > 64 => (if a.bits == 0 { 0 } else { i128::MAX as u128 }, false),
            0.. => (a.bits << exponent, false),
            _ => round_off(a.bits, -exponent as u32, a.sign, rounding),
        };
        let value = if a.sign { -(whole as i128) } else { whole as i128 };
        let fits = value.clamp(least, most);
        if fits != value {
            self.flags |= INVALID;
        } else if inexact {
            self.flags |= INEXACT;
        }
        fits as u32
    }

    /// Converts from an integer with `fraction` bits after the point.
    pub(crate) fn single_of_integer(&mut self, value: i64, fraction: u32) -> u32 {
        self.pack(Number { sign: value < 0, exponent: -(fraction as i32), bits: u128::from(value.unsigned_abs()) })
    }

    pub(crate) fn single_of_half(&mut self, x: u32) -> u32 {
        let (sign, field, fraction) = ((x & 0x8000) << 16, x >> 10 & 31, x & 0x3ff);
        if field == 31 && !self.alternative_half {
            if fraction == 0 {
                return sign | INFINITY;
            }
            return self.quieted(sign | INFINITY | fraction << 13);
        }
        let (exponent, bits) = if field == 0 { (-24, fraction) } else { (field as i32 - 25, fraction | 0x400) };
        self.pack(Number { sign: sign != 0, exponent, bits: u128::from(bits) })
    }

    pub(crate) fn half(&mut self, x: u32) -> u32 {
        let x = self.operand(x);
        let sign = x >> 16 & 0x8000;
        if is_nan(x) {
            if self.alternative_half {
                self.flags |= INVALID;
                return sign;
            }
            let nan = self.quieted(x);
            return nan >> 16 & 0x8000 | 0x7c00 | nan >> 13 & 0x3ff;
        }
        if is_infinite(x) {
            if self.alternative_half {
                self.flags |= INVALID;
                return sign | 0x7fff;
            }
            return sign | 0x7c00;
        }
        let a = number(x);
        if a.bits == 0 {
            return sign;
        }
        let top = a.exponent + 127 - a.bits.leading_zeros() as i32;
        let least = (top - 10).max(-24);
        let (bits, inexact) = if least <= a.exponent {
            (a.bits << (a.exponent - least), false)
        } else {
            round_off(a.bits, (least - a.exponent) as u32, a.sign, self.rounding)
        };
        let packed = ((least + 24) as u64) << 10;
        let packed = packed + bits as u64;
        if self.alternative_half && packed >= 0x8000 {
            self.flags |= INVALID;
            return sign | 0x7fff;
        }
        if !self.alternative_half && packed >= 0x7c00 {
            self.flags |= OVERFLOW | INEXACT;
            let away = match self.rounding {
                Rounding::Up => !a.sign,
                Rounding::Down => a.sign,
                Rounding::Zero => false,
                _ => true,
            };
            return sign | if away { 0x7c00 } else { 0x7bff };
        }
        if inexact {
            self.flags |= INEXACT | if top < -14 { UNDERFLOW } else { 0 };
        }
        sign | packed as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Float =
        Float { rounding: Rounding::NearestEven, flush: false, default_nan: false, alternative_half: false, flags: 0 };

    #[test]
    fn arithmetic_is_the_pcs_own() {
        let mut seed = 1_u64;
        for _ in 0..200_000 {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 32) as u32
            };
            let (x, y) = (next(), if next() & 1 != 0 { next() } else { 0x3f80_0000 ^ next() >> 9 });
            let (a, b) = (f32::from_bits(x), f32::from_bits(y));
            let mut float = PLAIN;
            for (own, pc) in [
                (float.add(x, y), a + b),
                (float.mul(x, y), a * b),
                (float.div(x, y), a / b),
                (float.sqrt(x), a.sqrt()),
                (float.fma(x, x, y), a.mul_add(b, a)),
            ] {
                assert!(own == pc.to_bits() || pc.is_nan() && is_nan(own), "{x:08x} {y:08x}: {own:08x} {pc:e}");
            }
        }
    }

    #[test]
    fn flags_and_modes() {
        let run = |float: Float, operation: fn(&mut Float) -> u32| {
            let mut float = float;
            (operation(&mut float), float.flags)
        };
        assert_eq!(run(PLAIN, |f| f.div(0x3f80_0000, 0)), (INFINITY, DIVIDE_BY_ZERO));
        assert_eq!(run(PLAIN, |f| f.mul(0x7f00_0000, 0x7f00_0000)), (INFINITY, OVERFLOW | INEXACT));
        assert_eq!(run(PLAIN, |f| f.mul(0x0080_0000, 0x3f00_0000)), (0x0040_0000, 0));
        assert_eq!(run(PLAIN, |f| f.mul(1, 0x3f00_0000)), (0, UNDERFLOW | INEXACT));
        assert_eq!(run(Float { flush: true, ..PLAIN }, |f| f.mul(0x0080_0000, 0x3f00_0000)), (0, UNDERFLOW));
        assert_eq!(run(Float { rounding: Rounding::Up, ..PLAIN }, |f| f.add(0x3f80_0000, 1)), (0x3f80_0001, INEXACT));
        assert_eq!(run(PLAIN, |f| f.integer(0x4f00_0000, 32, true, 0, Rounding::Zero)), (0x7fff_ffff, INVALID));
        assert_eq!(run(PLAIN, |f| f.half(0x3f80_1000)), (0x3c00, INEXACT));
        assert_eq!(run(PLAIN, |f| f.single_of_half(0x0001)), (0x3380_0000, 0));
        assert_eq!(run(PLAIN, |f| f.extreme(DEFAULT_NAN, 0x3f80_0000, true)), (0x3f80_0000, 0));
    }
}
