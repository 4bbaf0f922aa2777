//! Sequences of instructions against the host's IEEE arithmetic, with subnormals as zeros.

use super::*;
use sim::SplitMix64;

const INIT: (u32, u32, u32) = (0, 0, 0);
const ADD0: (u32, u32, u32) = (0, 1, 0);
const ADD1: (u32, u32, u32) = (1, 1, 0);
const SUB1: (u32, u32, u32) = (1, 1, 1);
const SQR0: (u32, u32, u32) = (2, 1, 0);
const NRDF: (u32, u32, u32) = (8, 2, 1);
const NRDD: (u32, u32, u32) = (8, 0, 1);
const NTDC: (u32, u32, u32) = (8, 0, 2);
const NRDC: (u32, u32, u32) = (8, 0, 3);
const SPECIALS: [f64; 12] = [
    0.0,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
    f64::MAX,
    5e-324,
    1.0,
    -1.0,
    4_294_967_295.5,
    -2_147_483_648.5,
];

#[derive(Default)]
struct Sequence(Dcp);

impl Sequence {
    fn with(instructions: &[(u32, u32, u32)], write: impl FnOnce(&mut Self)) -> Self {
        let mut sequence = Self::default();
        write(&mut sequence);
        sequence.run(instructions)
    }

    fn run(mut self, instructions: &[(u32, u32, u32)]) -> Self {
        for &(opc1, crm, opc2) in instructions {
            self.0.cdp(Fields { opc1, opc2, crm, ..Fields::default() }, 0).unwrap();
            assert!(self.0.engaged || (opc1, crm, opc2) == INIT);
        }
        self
    }

    fn write(&mut self, opc1: u32, crm: u32, value: u64) {
        let (low, high) = split(value);
        self.0.mcrr(opc1, crm, low, high).unwrap();
        assert!(self.0.engaged);
    }

    fn doubles(&mut self, x: f64, y: f64) {
        self.write(1, 0, x.to_bits());
        self.write(1, 1, y.to_bits());
    }

    fn singles(&mut self, x: f32, y: f32) {
        self.write(1, 2, join(x.to_bits(), y.to_bits()));
    }

    fn mantissa(&mut self, crm: u32) -> u64 {
        let (low, high) = self.0.mrrc(0, crm, false).unwrap();
        join(low, high)
    }

    fn double(self) -> f64 {
        self.result(1)
    }

    fn result(mut self, opc1: u32) -> f64 {
        let (low, high) = self.0.mrrc(opc1, 0, false).unwrap();
        assert!(!self.0.engaged);
        f64::from_bits(join(low, high))
    }

    fn word(&mut self, crm: u32, opc2: u32) -> u32 {
        let value = self.0.mrc(Fields { crm, opc2, ..Fields::default() }).unwrap();
        assert!(!self.0.engaged);
        value
    }

    fn single(mut self) -> f32 {
        f32::from_bits(self.word(2, 0))
    }
}

fn multiply(x: f64, y: f64) -> f64 {
    let mut sequence = Sequence::default();
    sequence.doubles(x, y);
    let product = u128::from(sequence.mantissa(4)) * u128::from(sequence.mantissa(5));
    sequence.write(2, 0, product as u64);
    sequence.write(3, 0, (product >> 64) as u64);
    sequence.run(&[NRDD]).result(5)
}

fn divide(x: f64, y: f64) -> f64 {
    let mut sequence = Sequence::default();
    sequence.doubles(x, y);
    let (x, y) = (u128::from(sequence.mantissa(4)) << 57, u128::from(sequence.mantissa(5)));
    sequence.write(4, 0, (x / y) as u64 | u64::from(!x.is_multiple_of(y)));
    sequence.run(&[NRDD]).double()
}

fn root(x: f64) -> f64 {
    let mut sequence = Sequence::with(&[SQR0], |sequence| sequence.write(1, 0, x.to_bits()));
    let square = u128::from(sequence.mantissa(4)) << 58;
    let root = square.isqrt();
    sequence.write(5, 0, root as u64 | u64::from(root * root != square));
    sequence.run(&[NRDD]).double()
}

fn bits(random: &mut SplitMix64) -> u64 {
    join(random.draw32(), random.draw32())
}

/// A number of any kind, often near others in exponent or with few bits.
fn operand(random: &mut SplitMix64) -> f64 {
    let (bits, exponent) = (bits(random), bits(random));
    let near = |spread: u64, mask: u64| {
        f64::from_bits(bits & mask & (1 << 63 | ((1 << 52) - 1)) | (1023 - spread / 2 + exponent % spread) << 52)
    };
    match random.below32(8) {
        0 => SPECIALS[bits as usize % SPECIALS.len()],
        1 | 2 => f64::from_bits(bits),
        3 => near(4, u64::MAX),
        4 => near(140, u64::MAX << (exponent >> 32 & 51)),
        5 => (bits as i32).into(),
        6 => f64::from(bits as i32) + 0.5,
        _ => near(120, u64::MAX),
    }
}

fn flushed(value: f64) -> f64 {
    if value.is_subnormal() { 0f64.copysign(value) } else { value }
}

fn flushed_single(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// Computes where the result is far from the least number, to which IEEE alone rounds smaller ones up.
fn rounded_once(result: f64, scale: f64, scaled: impl FnOnce() -> f64) -> f64 {
    if result.abs() > f64::MIN_POSITIVE || result.is_nan() {
        return result;
    }
    let scaled = scaled();
    if scaled.abs() < f64::MIN_POSITIVE * scale { 0f64.copysign(result) } else { result }
}

fn same(what: &str, operands: [f64; 2], seen: f64, expected: f64) {
    let equal = seen.to_bits() == expected.to_bits() || seen.is_nan() && expected.is_nan();
    assert!(equal, "{what} of {operands:?}: {seen:e}, not {expected:e}");
}

fn cases(seed: u64, mut check: impl FnMut(f64, f64)) {
    let mut random = SplitMix64::new(seed);
    for x in SPECIALS {
        SPECIALS.iter().for_each(|&y| check(x, y));
    }
    for _ in 0..100_000 {
        check(operand(&mut random), operand(&mut random));
    }
}

#[test]
fn doubles_are_added_subtracted_and_compared() {
    cases(1, |x, y| {
        let (fx, fy) = (flushed(x), flushed(y));
        let result = |step| Sequence::with(&[ADD0, step, NRDD], |sequence| sequence.doubles(x, y)).double();
        same("sum", [x, y], result(ADD1), flushed(fx + fy));
        same("difference", [x, y], result(SUB1), flushed(fx - fy));
        let compared = Sequence::with(&[ADD0], |sequence| sequence.doubles(x, y)).word(0, 1) >> 28 & 7;
        let expected = match fx.partial_cmp(&fy) {
            None => 1,
            Some(order) => u32::from(order.is_ge()) << 1 | u32::from(order.is_eq()) << 2,
        };
        assert_eq!(compared, expected, "{x:e} and {y:e}");
    });
}

#[test]
fn doubles_are_multiplied_and_divided() {
    const SCALE: f64 = f64::from_bits((1023 + 600) << 52);
    cases(2, |x, y| {
        let (fx, fy) = (flushed(x), flushed(y));
        let (small, large) = if fx.abs() < fy.abs() { (fx, fy) } else { (fy, fx) };
        same("product", [x, y], multiply(x, y), rounded_once(fx * fy, SCALE, || small * SCALE * large));
        let scaled = || if fx.abs() < 1.0 { fx * SCALE / fy } else { fx / (fy / SCALE) };
        same("quotient", [x, y], divide(x, y), rounded_once(fx / fy, SCALE, scaled));
    });
}

#[test]
fn roots_are_drawn() {
    cases(3, |x, y| {
        for value in [x, y.abs()] {
            same("root", [value; 2], root(value), flushed(value).sqrt());
        }
    });
}

/// By pico-sdk's test `m33`.
#[test]
fn two_kinds_of_nan_have_the_chips_bits() {
    let product = multiply(f64::from_bits(0x7b38_6a73_7bf6_693d), f64::from_bits(0xfff7_0000_0000_00ec));
    assert_eq!(product.to_bits(), 0xffff_0000_0000_00ec);
    assert_eq!(root(f64::from_bits(0xfc69_98b6_6a2a_51de)).to_bits(), 0xfff8_0000_0000_0000);
}

#[test]
fn singles_go_the_same_way() {
    cases(4, |x, y| {
        let (x, y) = (x as f32, y as f32);
        let (fx, fy) = (flushed_single(x), flushed_single(y));
        let result = |step| Sequence::with(&[ADD0, step, NRDF], |sequence| sequence.singles(x, y)).single();
        let operands = [f64::from(x), f64::from(y)];
        same("sum", operands, result(ADD1).into(), flushed_single(fx + fy).into());
        same("difference", operands, result(SUB1).into(), flushed_single(fx - fy).into());
        let double = Sequence::with(&[NRDD], |sequence| sequence.singles(x, y)).double();
        same("double", operands, double, fx.into());

        let mut sequence = Sequence::default();
        sequence.singles(x, y);
        let (high_x, high_y) = sequence.0.mrrc(1, 1, false).unwrap();
        sequence.write(10, 0, u64::from(high_x) * u64::from(high_y));
        // A product of singles is exact as a double, and so rounded once.
        let product = f64::from(fx) * f64::from(fy);
        let expected = if product.abs() < f32::MIN_POSITIVE.into() && single_below_least(product) {
            0f64.copysign(product)
        } else {
            (product as f32).into()
        };
        same("product", operands, sequence.run(&[NRDF]).single().into(), expected);
    });
}

/// Returns whether `value`, rounded to 24 bits, is below the least normal single.
fn single_below_least(value: f64) -> bool {
    ((value * (1u64 << 40) as f64) as f32) < f32::MIN_POSITIVE * (1u64 << 40) as f32 && value >= 0.0
        || ((-value * (1u64 << 40) as f64) as f32) < f32::MIN_POSITIVE * (1u64 << 40) as f32 && value <= 0.0
}

#[test]
fn numbers_are_converted() {
    cases(5, |x, y| {
        let double = x;
        let single = Sequence::with(&[NRDF], |sequence| sequence.doubles(double, y)).single();
        let fx = flushed(double);
        let expected = if single_below_least(fx) { 0f32.copysign(fx as f32) } else { fx as f32 };
        same("single", [x; 2], single.into(), expected.into());

        let integers = |opc1, crm, bits: u64, step| {
            let mut sequence = Sequence::with(&[ADD0, ADD1, step], |sequence| sequence.write(opc1, crm, bits));
            let mut again = Sequence(sequence.0);
            (sequence.word(3, 0) as i32, again.word(3, 1))
        };
        for (name, value, seen) in [
            ("truncated", fx.trunc(), integers(8, 0, double.to_bits(), NTDC)),
            ("rounded", fx.round_ties_even(), integers(8, 0, double.to_bits(), NRDC)),
            ("single", flushed_single(x as f32).trunc().into(), integers(9, 2, (x as f32).to_bits().into(), NTDC)),
        ] {
            let expected = match (value.is_nan(), value.is_sign_negative()) {
                (true, false) => (i32::MAX, u32::MAX),
                (true, true) => (i32::MIN, 0),
                _ => (value as i32, value as u32),
            };
            assert_eq!(seen, expected, "{name} {x:e}");
        }

        let integer = (x.to_bits() ^ y.to_bits() >> 32) as u32;
        for (opc1, exact) in [(6, f64::from(integer)), (7, f64::from(integer as i32))] {
            let write = |sequence: &mut Sequence| sequence.write(opc1, 0, join(integer, integer));
            let double = Sequence::with(&[ADD0, SUB1, NRDD], write).double();
            let single = Sequence::with(&[ADD0, SUB1, NRDF], write).single();
            same("integer", [exact; 2], double, exact);
            same("integer as a single", [exact; 2], single.into(), (exact as f32).into());
        }
    });
}

#[test]
fn first_approximations_are_close() {
    for index in 0..4096u64 {
        let mantissa = ONE | index << 50;
        let y = mantissa as f64 / ONE as f64;
        let error = f64::from(reciprocal(mantissa)) / (1u64 << 31) as f64 * y - 1.0;
        assert!(error.abs() < 1.0 / 500.0, "1 / {y}: {error}");
        for (mantissa, x) in [(mantissa, y), (mantissa << 1, 2.0 * y)] {
            let error = f64::from(reciprocal_root(mantissa)) / (1u64 << 31) as f64 * x.sqrt() - 1.0;
            assert!(error.abs() < 1.0 / 500.0, "1 / sqrt({x}): {error}");
        }
    }
}

#[test]
fn an_interrupted_sequence_continues() {
    let mut sequence = Sequence::with(&[ADD0], |sequence| sequence.doubles(1e300, -3.5e292));
    let saved = [8, 9, 10].map(|crm| sequence.0.mrrc(0, crm, true).unwrap());
    let before = sequence.0;
    let other = Sequence::with(&[ADD0, ADD1, NRDD], |sequence| sequence.doubles(-0.0, 5.0));
    let mut restored = Sequence(other.0);
    for (crm, (low, high)) in (0..).zip(saved) {
        restored.0.mcrr(0, crm, low, high).unwrap();
    }
    assert_eq!(restored.0, before);
    assert_eq!(restored.run(&[SUB1, NRDD]).double(), 1e300 + 3.5e292);
}

#[test]
fn the_flags_of_a_class_are_read() {
    for (value, flags) in [(1.0, 0), (-0.0, SIGN | ZERO), (f64::INFINITY, INFINITE), (-f64::NAN, SIGN | NAN)] {
        let mut sequence = Sequence::with(&[], |sequence| sequence.doubles(value, 0.0));
        assert_eq!(sequence.word(0, 0), flags << 28, "{value}");
    }
    assert_eq!(Sequence::default().run(&[INIT]).0, Dcp::default());
}

#[test]
fn other_instructions_are_unknown() {
    let mut dcp = Dcp::default();
    let fields = Fields { opc1: 3, ..Fields::default() };
    assert_eq!((dcp.cdp(fields, 0), dcp.mrc(fields)), (Err(Unknown), Err(Unknown)));
    assert_eq!((dcp.mcrr(13, 0, 0, 0), dcp.mrrc(6, 1, false)), (Err(Unknown), Err(Unknown)));
}
