//! RCP, the redundancy coprocessor (datasheet 3.6.3): the boot ROM's canaries and checks.
//!
//! A fault, and a panic, stop both cores until a reset; the chip ends the run by name then.

use sim::Snapshot;

/// RCP's booleans.
const TRUE: u32 = 0xa500_a500;
const FALSE: u32 = 0x00c3_00c3;
const INTEGER_MASK: u32 = 0x9600_9600;
/// Instructions of MCRR: the writes of both salts.
const SALT: u32 = 8;
/// Places of the LFSRs in the 24 bits of the delays' state: least bit, length, taps (3.6.3.6).
const LFSRS: [(u32, u32, u32); 4] = [(20, 4, 0xc), (15, 5, 0x14), (8, 7, 0x60), (0, 8, 0xb4)];
/// For each output bit, lowest first: the places whose XOR it is, and the three whose majority joins them.
const OUTPUTS: [([u32; 6], [u32; 3]); 8] = [
    ([11, 3, 4, 19, 10, 14], [1, 2, 9]),
    ([4, 16, 11, 18, 9, 6], [14, 21, 16]),
    ([15, 13, 20, 21, 8, 12], [7, 22, 9]),
    ([23, 12, 7, 16, 14, 5], [17, 3, 15]),
    ([4, 19, 17, 0, 18, 7], [18, 11, 3]),
    ([7, 5, 2, 18, 11, 1], [18, 14, 7]),
    ([14, 21, 19, 6, 16, 13], [4, 14, 6]),
    ([7, 17, 6, 16, 13, 8], [9, 12, 21]),
];

/// What RCP found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub &'static str);

/// The fields of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub opc1: u32,
    pub opc2: u32,
    pub crn: u32,
    pub crm: u32,
    /// It is of the form with a 2 (MCR2, ...), which has no delay.
    pub second: bool,
}

impl Fields {
    fn tag(self) -> u32 {
        self.crn << 4 | self.crm
    }

    /// Checks the parity of an instruction other than MCRR: odd, as the listed instructions have it (3.6.3.7).
    fn check(self) -> Result<(), Fault> {
        if (self.opc1.count_ones() + self.opc2) & 1 != 0 && self.opc2 < 2 { Ok(()) } else { Err(Fault("bad parity")) }
    }
}

/// The instance of one core.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
struct Instance {
    /// `None`: not valid yet.
    salt: Option<u64>,
    /// State of the delays' random numbers.
    state: u32,
    count: u8,
}

impl Instance {
    fn random(&mut self) -> u32 {
        let state = self.state;
        let bit = |place: u32| state >> place & 1;
        let byte = OUTPUTS.iter().enumerate().fold(0, |byte, (index, (xor, majority))| {
            let sum = xor.iter().fold(0, |sum, &place| sum ^ bit(place));
            let votes: u32 = majority.iter().map(|&place| bit(place)).sum();
            byte | (sum ^ u32::from(votes > 1)) << index
        });
        self.state = LFSRS.iter().fold(0, |next, &(lsb, length, taps)| {
            let mask = (1 << length) - 1;
            let value = state >> lsb & mask;
            let shifted_in = if value == 0 { 1 } else { (value & taps).count_ones() & 1 };
            next | (value << 1 & mask | shifted_in) << lsb
        });
        byte
    }

    fn canary(&self, salt: u64, tag: u32) -> u32 {
        let expanded = tag | (!tag & 0xff) << 8 | tag << 16;
        let masked = expanded & (0x00ff_0000 | (salt >> 24) as u32 & 0xffff);
        (masked ^ salt as u32) << 8
    }
}

/// Both cores' instances.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub struct Rcp {
    cores: [Instance; 2],
}

impl Rcp {
    /// Returns the salt of `core`, and the cycles of delay of an instruction that has one.
    fn ready(&mut self, core: usize, fields: Fields) -> Result<(u64, u32), Fault> {
        let instance = &mut self.cores[core];
        let salt = instance.salt.ok_or(Fault("no salt yet"))?;
        let delay = if fields.second { 0 } else { instance.random() & 0x7f };
        Ok((salt, delay))
    }

    /// Executes MRC: returns the value and the cycles of delay.
    pub fn mrc(&mut self, core: usize, fields: Fields) -> Result<(u32, u32), Fault> {
        fields.check()?;
        if fields.opc1 == 1 && fields.tag() == 0 {
            // Only this one works without a salt.
            let valid = self.cores[core].salt.is_some();
            let delay = if valid { self.ready(core, fields)?.1 } else { 0 };
            return Ok((if valid { TRUE } else { FALSE }, delay));
        }
        match fields.opc1 {
            0 => {
                let (salt, delay) = self.ready(core, fields)?;
                Ok((self.cores[core].canary(salt, fields.tag()), delay))
            }
            2 if fields.tag() == 0 => {
                self.ready(core, Fields { second: true, ..fields })?;
                Ok((self.cores[core].random(), 0))
            }
            _ => Err(Fault("invalid MRC")),
        }
    }

    /// Executes MCR: returns the cycles of delay.
    pub fn mcr(&mut self, core: usize, fields: Fields, value: u32) -> Result<u32, Fault> {
        fields.check()?;
        let (salt, delay) = self.ready(core, fields)?;
        let instance = &mut self.cores[core];
        let tag = fields.tag();
        let holds = match fields.opc1 {
            0 => value == instance.canary(salt, tag),
            1 if tag == 0 => matches!(value, TRUE | FALSE),
            2 if tag == 0 => value == TRUE,
            3 if tag == 0 => value == FALSE,
            4 => {
                instance.count = tag as u8;
                true
            }
            5 => {
                let holds = instance.count == tag as u8;
                instance.count = instance.count.wrapping_add(1);
                holds
            }
            _ => return Err(Fault("invalid MCR")),
        };
        let checks = ["canary", "boolean", "true", "false", "count", "count"];
        if holds { Ok(delay) } else { Err(Fault(checks[fields.opc1 as usize])) }
    }

    /// Executes MCRR: returns the cycles of delay. `fields.opc2` and `fields.crn` are not used.
    pub fn mcrr(&mut self, core: usize, fields: Fields, low: u32, high: u32) -> Result<u32, Fault> {
        if (fields.opc1.count_ones() + (fields.crm >> 3)) & 1 == 0 {
            return Err(Fault("bad parity"));
        }
        let crm = fields.crm & 7;
        if fields.opc1 == SALT && crm < 2 {
            let instance = &mut self.cores[crm as usize];
            if instance.salt.is_some() {
                return Err(Fault("salt written twice"));
            }
            let salt = u64::from(high) << 32 | u64::from(low);
            (instance.salt, instance.state) = (Some(salt), (salt >> 40) as u32);
            return Ok(0);
        }
        if crm != 0 {
            return Err(Fault("invalid MCRR"));
        }
        let (_, delay) = self.ready(core, fields)?;
        let valid = |value: u32| matches!(value, TRUE | FALSE);
        let holds = match fields.opc1 {
            0 => valid(low) && valid(high),
            1 => low == TRUE && high == TRUE,
            2 => valid(low) && valid(high) && (low == TRUE || high == TRUE),
            3 => valid(low ^ high),
            4 => low ^ high == TRUE,
            5 => low ^ high == FALSE,
            6 => low ^ high == INTEGER_MASK,
            7 => low == high,
            _ => return Err(Fault("invalid MCRR")),
        };
        if holds { Ok(delay) } else { Err(Fault("comparison")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(opc1: u32, opc2: u32, tag: u32) -> Fields {
        Fields { opc1, opc2, crn: tag >> 4, crm: tag & 15, second: true }
    }

    fn salted() -> Rcp {
        let mut rcp = Rcp::default();
        rcp.mcrr(0, fields(8, 0, 0), 0x1122_3344, 0x5566_7788).unwrap();
        rcp.mcrr(0, fields(8, 0, 1), 1, 2).unwrap();
        rcp
    }

    #[test]
    fn nothing_but_the_status_works_without_a_salt() {
        let mut rcp = Rcp::default();
        assert_eq!(rcp.mrc(0, fields(1, 0, 0)), Ok((FALSE, 0)));
        assert_eq!(rcp.mrc(0, fields(0, 1, 7)), Err(Fault("no salt yet")));
        let mut rcp = salted();
        assert_eq!((rcp.mrc(0, fields(1, 0, 0)), rcp.mrc(1, fields(1, 0, 0))), (Ok((TRUE, 0)), Ok((TRUE, 0))));
        assert_eq!(rcp.mcrr(0, fields(8, 0, 0), 0, 0), Err(Fault("salt written twice")));
    }

    #[test]
    fn a_canary_is_that_of_its_tag() {
        let mut rcp = salted();
        let (canary, _) = rcp.mrc(0, fields(0, 1, 0x5a)).unwrap();
        // Bits 7:0 of the salt with tag & bits 31:24; 15:8 with !tag & 39:32; 23:16 with the tag.
        assert_eq!(canary, ((0x22 ^ 0x5a) << 24) | ((0x33 ^ (0xa5 & 0x88)) << 16) | ((0x44 ^ (0x5a & 0x11)) << 8));
        assert_eq!(rcp.mcr(0, fields(0, 1, 0x5a), canary), Ok(0));
        assert_eq!(rcp.mcr(0, fields(0, 1, 0x5b), canary), Err(Fault("canary")));
    }

    #[test]
    fn checks_hold_or_fault() {
        let mut rcp = salted();
        for (opc1, parity, value, holds) in [
            (1, 0, TRUE, true),
            (1, 0, FALSE, true),
            (1, 0, 1, false),
            (2, 0, TRUE, true),
            (2, 0, FALSE, false),
            (3, 1, FALSE, true),
            (3, 1, TRUE, false),
        ] {
            assert_eq!(rcp.mcr(0, fields(opc1, parity, 0), value).is_ok(), holds, "{opc1} {value:#x}");
        }
        for (opc1, parity, low, high, holds) in [
            (0, 8, TRUE, FALSE, true),
            (1, 0, TRUE, FALSE, false),
            (2, 0, TRUE, FALSE, true),
            (2, 0, FALSE, FALSE, false),
            (3, 8, TRUE ^ 5, 5, true),
            (4, 0, TRUE ^ 5, 5, true),
            (5, 8, TRUE ^ 5, 5, false),
            (6, 8, 7 ^ INTEGER_MASK, 7, true),
            (7, 0, 7, 7, true),
            (7, 0, 7, 8, false),
        ] {
            assert_eq!(rcp.mcrr(0, fields(opc1, 0, parity), low, high).is_ok(), holds, "{opc1} {low:#x}");
        }
        assert_eq!(rcp.mcr(0, fields(1, 1, 0), TRUE), Err(Fault("bad parity")));
    }

    #[test]
    fn a_count_goes_up_with_each_check() {
        let mut rcp = salted();
        assert_eq!(rcp.mcr(0, fields(4, 0, 0xfe), 0), Ok(0));
        for tag in [0xfe, 0xff, 0x00] {
            assert_eq!(rcp.mcr(0, fields(5, 1, tag), 0), Ok(0));
        }
        assert_eq!(rcp.mcr(0, fields(5, 1, 0), 0), Err(Fault("count")));
    }

    #[test]
    fn delays_are_below_128_cycles_and_repeat_with_the_salt() {
        let delays = |count: usize| {
            let mut rcp = salted();
            let delayed = Fields { second: false, ..fields(1, 0, 0) };
            (0..count).map(|_| rcp.mcr(0, delayed, TRUE).unwrap()).collect::<Vec<_>>()
        };
        let first = delays(1000);
        assert_eq!(first, delays(1000));
        assert!(first.iter().all(|delay| *delay < 128) && first.iter().any(|delay| *delay > 100));
    }
}
