//! The DSP extension: parallel sums, saturation, multiplications of halfwords (Armv8-M ARM, C2.4), by their word.

use crate::core::Core;
use crate::fault::Cause;

fn halves(x: u32) -> (i32, i32) {
    (i32::from(x as i16), i32::from((x >> 16) as i16))
}

impl Core {
    /// Saturates to a signed number of `bits`, and sets Q if that changes it.
    fn saturate(&mut self, value: i64, bits: u32) -> u32 {
        let most = (1_i64 << (bits - 1)) - 1;
        let fits = value.clamp(-most - 1, most);
        self.q |= fits != value;
        fits as u32
    }

    fn saturate_unsigned(&mut self, value: i64, bits: u32) -> u32 {
        let fits = value.clamp(0, (1_i64 << bits) - 1);
        self.q |= fits != value;
        fits as u32
    }

    pub(crate) fn execute_dsp(&mut self, word: u32) -> Result<(), Cause> {
        let at = |shift: u32| (word >> shift & 15) as usize;
        let (rn, ra, rd, rm) = (at(16), at(12), at(8), at(0));
        let (n, m) = (self.regs[rn], self.regs[rm]);
        let low = word >> 4 & 15;
        let value = match word >> 20 & 0xfff {
            // PKHBT, PKHTB.
            0xeac => {
                let amount = word >> 10 & 0x1c | word >> 6 & 3;
                if word & 0x20 == 0 {
                    n & 0xffff | m << amount & 0xffff_0000
                } else {
                    n & 0xffff_0000 | ((m as i32) >> if amount == 0 { 31 } else { amount }) as u32 & 0xffff
                }
            }
            // SSAT, SSAT16, USAT, USAT16.
            top @ (0xf30 | 0xf32 | 0xf38 | 0xf3a) => {
                let (amount, bits) = (word >> 10 & 0x1c | word >> 6 & 3, word & 31);
                let unsigned = top & 8 != 0;
                if top & 2 != 0 && amount == 0 {
                    let (bottom, upper) = halves(n);
                    let mut half = |x: i32| {
                        let x = i64::from(x);
                        if unsigned { self.saturate_unsigned(x, bits & 15) } else { self.saturate(x, (bits & 15) + 1) }
                    };
                    half(bottom) & 0xffff | half(upper) << 16
                } else {
                    let x = n as i32;
                    let x = i64::from(if top & 2 != 0 { x >> amount } else { x << amount });
                    if unsigned { self.saturate_unsigned(x, bits) } else { self.saturate(x, bits + 1) }
                }
            }
            // Extensions, with a sum unless Rn is R15.
            top @ 0xfa0..=0xfa5 if low & 8 != 0 => {
                let x = m.rotate_right((low & 3) * 8);
                let extended = match top & 7 {
                    0 => x as i16 as u32,
                    1 => x & 0xffff,
                    2 => x as i8 as u32 & 0xffff | ((x >> 16) as i8 as u32) << 16,
                    3 => x & 0x00ff_00ff,
                    4 => x as i8 as u32,
                    _ => x & 0xff,
                };
                let sum = if rn == 15 { 0 } else { n };
                if matches!(top & 7, 2 | 3) {
                    sum.wrapping_add(extended) & 0xffff | (sum >> 16).wrapping_add(extended >> 16) << 16
                } else {
                    sum.wrapping_add(extended)
                }
            }
            top @ (0xfa8..=0xfaa | 0xfac..=0xfae) if low < 8 => self.parallel(top & 7, low, n, m),
            // QADD, QDADD, QSUB, QDSUB.
            0xfa8 => {
                let (n, m) = (i64::from(n as i32), i64::from(m as i32));
                let n = if low & 1 != 0 { i64::from(self.saturate(2 * n, 32) as i32) } else { n };
                self.saturate(if low & 2 != 0 { m - n } else { m + n }, 32)
            }
            // SEL.
            0xfaa => (0..4).fold(0, |all, i| all | (if self.ge >> i & 1 != 0 { n } else { m }) & 0xff << (8 * i)),
            top @ 0xfb1..=0xfb7 => self.multiply(top & 7, low, n, m, ra),
            top => {
                // SMLALxy, SMLALD, SMLSLD: RdLo in bits 12 to 15, RdHi in 8 to 11.
                let sum = (u64::from(self.regs[rd]) << 32 | u64::from(self.regs[ra])) as i64;
                let product = |x: u32, y: u32| i64::from(halves(x).0) * i64::from(halves(y).0);
                let value = if top == 0xfbc && low < 12 {
                    product(n >> (16 * (low >> 1 & 1)), m >> (16 * (low & 1)))
                } else {
                    let m = if low & 1 != 0 { m.rotate_right(16) } else { m };
                    let (bottom, upper) = (product(n, m), product(n >> 16, m >> 16));
                    if top == 0xfbc { bottom + upper } else { bottom - upper }
                };
                let value = sum.wrapping_add(value);
                (self.regs[ra], self.regs[rd]) = (value as u32, (value >> 32) as u32);
                return Ok(());
            }
        };
        self.regs[rd] = if rd == 13 { value & !3 } else { value };
        Ok(())
    }

    /// Sums of halves or bytes. `how`: signed, saturating, halving, and the same without a sign.
    fn parallel(&mut self, what: u32, how: u32, n: u32, m: u32) -> u32 {
        let bytes = matches!(what, 0 | 4);
        let bits = if bytes { 8 } else { 16 };
        let unsigned = how & 4 != 0;
        let lane = |x: u32, i: u32| {
            let x = x >> (bits * i) & ((1 << bits) - 1);
            if unsigned { x as i32 } else { ((x << (32 - bits)) as i32) >> (32 - bits) }
        };
        let (mut value, mut ge) = (0, 0);
        for i in 0..32 / bits {
            let (x, y) = (lane(n, i), if matches!(what, 2 | 6) { lane(m, 1 - i) } else { lane(m, i) });
            // ADD8, ADD16, ASX, then SUB8, SUB16, SAX.
            let adds = match what {
                0 | 1 => true,
                2 => i == 1,
                6 => i == 0,
                _ => false,
            };
            let full = if adds { x + y } else { x - y };
            let result = match how & 3 {
                1 if unsigned => full.clamp(0, (1 << bits) - 1),
                1 => full.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                2 => full >> 1,
                _ => full,
            };
            let set = if unsigned && adds { full >= 1 << bits } else { full >= 0 };
            if set {
                ge |= if bytes { 1 << i } else { 3 << (2 * i) };
            }
            value |= (result as u32 & ((1 << bits) - 1)) << (bits * i);
        }
        if how & 3 == 0 {
            self.ge = ge;
        }
        value
    }

    /// Multiplications of halves and of the high word, with a sum unless Ra is R15.
    fn multiply(&mut self, what: u32, low: u32, n: u32, m: u32, ra: usize) -> u32 {
        let sum = if ra == 15 { 0 } else { i64::from(self.regs[ra] as i32) };
        let half = |x: u32, top: u32| i64::from(if top != 0 { halves(x).1 } else { halves(x).0 });
        // Sets Q if the sum needs more than 32 bits.
        let mut total = |value: i64| {
            self.q |= i64::from(value as i32) != value;
            value as u32
        };
        let swapped = if low & 1 != 0 { m.rotate_right(16) } else { m };
        match what {
            1 => total(half(n, low >> 1 & 1) * half(m, low & 1) + sum),
            2 => total(half(n, 0) * half(swapped, 0) + half(n, 1) * half(swapped, 1) + sum),
            3 => total(((i64::from(n as i32) * half(m, low & 1)) >> 16) + sum),
            4 => total(half(n, 0) * half(swapped, 0) - half(n, 1) * half(swapped, 1) + sum),
            5 | 6 => {
                let product = i64::from(n as i32) * i64::from(m as i32);
                let round = if low & 1 != 0 { 0x8000_0000 } else { 0 };
                let sum = sum << 32;
                let value = if what == 5 { sum.wrapping_add(product) } else { sum.wrapping_sub(product) };
                (value.wrapping_add(round) >> 32) as u32
            }
            _ => {
                let far = (0..4).map(|i| (n >> (8 * i) & 0xff).abs_diff(m >> (8 * i) & 0xff)).sum::<u32>();
                far.wrapping_add(sum as u32)
            }
        }
    }
}
