//! SIO's interpolators.

use sim::Snapshot;

/// One interpolator (RP2040 datasheet 2.3.1.6, RP2350 datasheet 3.1.10). `index` 0 can blend, 1 can clamp.
#[derive(Debug, Default, Snapshot)]
pub struct Interpolator {
    accum: [u32; 2],
    base: [u32; 3],
    ctrl: [u32; 2],
}

mod ctrl {
    pub(crate) const SIGNED: u32 = 1 << 15;
    pub(crate) const CROSS_INPUT: u32 = 1 << 16;
    pub(crate) const CROSS_RESULT: u32 = 1 << 17;
    pub(crate) const ADD_RAW: u32 = 1 << 18;
    pub(crate) const BLEND: u32 = 1 << 21;
    pub(crate) const CLAMP: u32 = 1 << 22;
    pub(crate) const OVERF: u32 = 7 << 23;
}

struct InterpolatorResult {
    lane: [u32; 3],
    /// Lane values after shift, mask and sign extension, before the base is added.
    shifted: [u32; 2],
    overflow: [bool; 2],
}

impl Interpolator {
    fn evaluate(&self, index: usize) -> InterpolatorResult {
        let blend = index == 0 && self.ctrl[0] & ctrl::BLEND != 0;
        let clamp = index == 1 && self.ctrl[0] & ctrl::CLAMP != 0;
        let mut masked = [0u32; 2];
        let mut input = [0u32; 2];
        let mut overflow = [false; 2];
        for lane in 0..2 {
            let c = self.ctrl[lane];
            input[lane] = if c & ctrl::CROSS_INPUT != 0 { self.accum[1 - lane] } else { self.accum[lane] };
            let shift = c & 31;
            let (lsb, msb) = ((c >> 5) & 31, (c >> 10) & 31);
            let mask = if msb >= lsb { ((1u64 << (msb + 1)) - 1) as u32 & !((1u64 << lsb) - 1) as u32 } else { 0 };
            let shifted = input[lane] >> shift;
            overflow[lane] = shifted & !((1u64 << (msb + 1)) - 1) as u32 != 0;
            let mut value = shifted & mask;
            if c & ctrl::SIGNED != 0 && msb < 31 && value & (1 << msb) != 0 {
                value |= !((1u32 << (msb + 1)) - 1);
            }
            masked[lane] = value;
        }
        let addend = |lane: usize| if self.ctrl[lane] & ctrl::ADD_RAW != 0 { input[lane] } else { masked[lane] };
        let mut lane = [0u32; 3];
        lane[0] = addend(0).wrapping_add(self.base[0]);
        lane[1] = addend(1).wrapping_add(self.base[1]);
        lane[2] = masked[0].wrapping_add(masked[1]).wrapping_add(self.base[2]);
        if clamp {
            let value = masked[0];
            let (low, high) = (self.base[0], self.base[1]);
            let below_or_above = if self.ctrl[0] & ctrl::SIGNED != 0 {
                ((value as i32) < low as i32, (value as i32) > high as i32)
            } else {
                (value < low, value > high)
            };
            lane[0] = match below_or_above {
                (true, _) => low,
                (_, true) => high,
                _ => value,
            };
        }
        if blend {
            let alpha = i64::from(masked[1] & 0xff);
            let (a, b) = if self.ctrl[1] & ctrl::SIGNED != 0 {
                (i64::from(self.base[0] as i32), i64::from(self.base[1] as i32))
            } else {
                (i64::from(self.base[0]), i64::from(self.base[1]))
            };
            lane[1] = (a + ((alpha * (b - a)) >> 8)) as u32;
            lane[0] = alpha as u32;
            lane[2] = masked[0].wrapping_add(self.base[2]);
        }
        InterpolatorResult { lane, shifted: masked, overflow }
    }

    /// Returns result `lane` as read over the bus: including FORCE_MSB, which the datapath ignores.
    fn result(&self, index: usize, lane: usize) -> u32 {
        let forced = if lane < 2 { ((self.ctrl[lane] >> 19) & 3) << 28 } else { 0 };
        self.evaluate(index).lane[lane] | forced
    }

    fn pop(&mut self, index: usize) {
        let r = self.evaluate(index).lane;
        let source = |lane: usize| if self.ctrl[lane] & ctrl::CROSS_RESULT != 0 { r[1 - lane] } else { r[lane] };
        self.accum = [source(0), source(1)];
    }

    /// Reads the register at `register` from ACCUM0.
    pub fn read(&mut self, index: usize, register: u32) -> u32 {
        match register {
            0x00 => self.accum[0],
            0x04 => self.accum[1],
            0x08 => self.base[0],
            0x0c => self.base[1],
            0x10 => self.base[2],
            0x14 | 0x18 | 0x1c => {
                let value = self.result(index, ((register - 0x14) / 4) as usize);
                self.pop(index);
                value
            }
            0x20 | 0x24 | 0x28 => self.result(index, ((register - 0x20) / 4) as usize),
            0x2c => {
                let overflow = self.evaluate(index).overflow;
                let flags = (u32::from(overflow[0]) << 23) | (u32::from(overflow[1]) << 24);
                (self.ctrl[0] & !ctrl::OVERF) | flags | (u32::from(flags != 0) << 25)
            }
            0x30 => self.ctrl[1],
            0x34 => self.evaluate(index).shifted[0],
            0x38 => self.evaluate(index).shifted[1],
            _ => 0,
        }
    }

    /// Writes the register at `register` from ACCUM0.
    pub fn write(&mut self, index: usize, register: u32, value: u32) {
        match register {
            0x00 => self.accum[0] = value,
            0x04 => self.accum[1] = value,
            0x08 => self.base[0] = value,
            0x0c => self.base[1] = value,
            0x10 => self.base[2] = value,
            0x2c => {
                let mode = if index == 0 { ctrl::BLEND } else { ctrl::CLAMP };
                self.ctrl[0] = value & (0x001f_ffff | mode);
            }
            0x30 => self.ctrl[1] = value & 0x001f_ffff,
            0x34 => self.accum[0] = self.accum[0].wrapping_add(value & 0x00ff_ffff),
            0x38 => self.accum[1] = self.accum[1].wrapping_add(value & 0x00ff_ffff),
            // BASE_1AND0: each half is sign-extended when its lane is signed (lane 1's flag for both in blend mode).
            0x3c => {
                let blend = index == 0 && self.ctrl[0] & ctrl::BLEND != 0;
                for lane in 0..2 {
                    let half = (value >> (16 * lane)) & 0xffff;
                    let signed = self.ctrl[if blend { 1 } else { lane }] & ctrl::SIGNED != 0;
                    self.base[lane] = if signed { half as u16 as i16 as u32 } else { half };
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW_BYTE: u32 = 7 << 10;

    fn results(index: usize, ctrl: [u32; 2], accum: [u32; 2], base: [u32; 3]) -> [u32; 3] {
        Interpolator { accum, base, ctrl }.evaluate(index).lane
    }

    #[test]
    fn a_blend_is_between_the_bases_and_gives_its_part_and_the_third_sum() {
        let blend = [ctrl::BLEND | LOW_BYTE, LOW_BYTE];
        assert_eq!(results(0, blend, [3, 64], [100, 200, 5]), [64, 125, 8]);
        assert_eq!(results(0, blend, [3, 64], [200, 100, 5]), [64, 175, 8]);
        let signed = [blend[0], blend[1] | ctrl::SIGNED];
        assert_eq!(results(0, signed, [3, 128], [-10i32 as u32, 10, 5]), [128, 0, 8]);
        assert_eq!(results(0, signed, [3, 1], [0, -1i32 as u32, 5]), [1, -1i32 as u32, 8], "rounded down");
        assert_eq!(results(1, blend, [3, 64], [100, 200, 5]), [103, 264, 72]);
    }

    #[test]
    fn a_clamp_keeps_lane_0_within_both_bases() {
        let clamp = |value: u32, signed: u32| {
            results(1, [ctrl::CLAMP | 31 << 10 | signed, LOW_BYTE], [value, 1], [10, 20, 0])[0]
        };
        assert_eq!([9, 10, 11, 20, 21].map(|value| clamp(value, 0)), [10, 10, 11, 20, 20]);
        assert_eq!([-1i32 as u32, 15].map(|value| [clamp(value, 0), clamp(value, ctrl::SIGNED)]), [[20, 10], [15, 15]]);
    }

    #[test]
    fn lanes_shift_mask_cross_and_add() {
        let lane0 = |ctrl: u32| results(0, [ctrl, LOW_BYTE], [0x1284, 0x77], [0x10, 0, 0])[0];
        assert_eq!(lane0(LOW_BYTE), 0x94);
        assert_eq!(lane0(LOW_BYTE | 4), 0x38);
        assert_eq!(lane0(LOW_BYTE | 4 << 5), 0x90);
        assert_eq!(lane0(LOW_BYTE | ctrl::SIGNED), 0xffff_ff94);
        assert_eq!(lane0(LOW_BYTE | ctrl::CROSS_INPUT), 0x87);
        assert_eq!(lane0(LOW_BYTE | ctrl::ADD_RAW), 0x1294);
        assert_eq!(lane0(3 << 10 | 5 << 5), 0x10, "a mask that ends before it begins has no bits");
    }
}
