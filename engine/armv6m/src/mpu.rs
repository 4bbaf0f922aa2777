//! The memory protection unit of one core: eight regions (ARMv6-M ARM B3.5).
//!
//! The unit never checks the private peripheral bus and the read of an exception's vector. A refused access is a
//! HardFault, since ARMv6-M has no MemManage fault. Memory types and attributes have no effect.

use crate::ppb::exception;
use sim::Snapshot;

const REGIONS: usize = 8;

mod ctrl {
    pub(crate) const ENABLE: u32 = 1 << 0;
    pub(crate) const HFNMIENA: u32 = 1 << 1;
    pub(crate) const PRIVDEFENA: u32 = 1 << 2;
    pub(crate) const ALL: u32 = ENABLE | HFNMIENA | PRIVDEFENA;
}

mod rbar {
    pub(crate) const REGION: u32 = 0xf;
    pub(crate) const VALID: u32 = 1 << 4;
    /// A region has at least 256 bytes.
    pub(crate) const ADDR: u32 = 0xffff_ff00;
}

mod rasr {
    pub(crate) const ENABLE: u32 = 1 << 0;
    pub(crate) const XN: u32 = 1 << 28;
    /// XN, AP, S, C, B, SRD, SIZE, ENABLE.
    pub(crate) const ALL: u32 = 0x1707_ff3f;
}

/// Exceptions with a negative priority, in which the unit is off unless HFNMIENA is set.
const NEGATIVE: u64 = 1 << exception::NMI | 1 << exception::HARD_FAULT;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Fetch,
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, Default, Snapshot)]
struct Region {
    rbar: u32,
    rasr: u32,
}

impl Region {
    /// Returns whether the region holds `address`: it is enabled, and so is the eighth of it with this address.
    fn holds(self, address: u32) -> bool {
        let size_log2 = ((self.rasr >> 1) & 31) + 1;
        // A smaller SIZE than 7 is reserved.
        if self.rasr & rasr::ENABLE == 0 || size_log2 < 8 {
            return false;
        }
        let offset = u64::from(address ^ self.rbar) >> size_log2;
        let eighth = (address >> (size_log2 - 3)) & 7;
        offset == 0 && self.rasr >> (8 + eighth) & 1 == 0
    }

    fn allows(self, access: Access, privileged: bool) -> bool {
        let (read, write) = match ((self.rasr >> 24) & 7, privileged) {
            (1, true) | (2, true) | (3, _) => (true, true),
            (2, false) | (5, true) | (6 | 7, _) => (true, false),
            _ => (false, false),
        };
        match access {
            Access::Fetch => read && self.rasr & rasr::XN == 0,
            Access::Read => read,
            Access::Write => write,
        }
    }
}

#[derive(Debug, Default, Snapshot)]
pub(crate) struct Mpu {
    ctrl: u32,
    number: u32,
    regions: [Region; REGIONS],
}

impl Mpu {
    #[inline]
    pub(crate) fn enabled(&self) -> bool {
        self.ctrl & ctrl::ENABLE != 0
    }

    /// Returns whether the access may be made, with `active` exceptions, by number.
    pub(crate) fn allows(&self, access: Access, address: u32, privileged: bool, active: u64) -> bool {
        let ignored = self.ctrl & ctrl::HFNMIENA == 0 && active & NEGATIVE != 0;
        if !self.enabled() || ignored || address >> 20 == 0xe00 {
            return true;
        }
        // Of overlapping regions the highest number decides.
        match self.regions.iter().rev().find(|region| region.holds(address)) {
            Some(region) => region.allows(access, privileged),
            None => privileged && self.ctrl & ctrl::PRIVDEFENA != 0,
        }
    }

    /// Reads the register at `offset` from MPU_TYPE.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        let region = self.regions[self.number as usize];
        match offset {
            0x00 => (REGIONS as u32) << 8,
            0x04 => self.ctrl,
            0x08 => self.number,
            0x0c => region.rbar | self.number,
            0x10 => region.rasr,
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32) {
        match offset {
            0x04 => self.ctrl = value & ctrl::ALL,
            0x08 => self.number = value & 7,
            0x0c => {
                if value & rbar::VALID != 0 {
                    self.number = value & rbar::REGION & 7;
                }
                self.regions[self.number as usize].rbar = value & rbar::ADDR;
            }
            0x10 => self.regions[self.number as usize].rasr = value & rasr::ALL,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTRL: u32 = 4;
    const RNR: u32 = 8;
    const RBAR: u32 = 0xc;
    const RASR: u32 = 0x10;
    const KB64: u32 = 15 << 1;

    /// The permissions of AP at an address in a region: reads and writes, privileged and not.
    fn permitted(ap: u32) -> [bool; 4] {
        let mut mpu = Mpu::default();
        mpu.write(RBAR, 0x2000_0000);
        mpu.write(RASR, ap << 24 | KB64 | 1);
        mpu.write(CTRL, 1);
        [(Access::Read, true), (Access::Write, true), (Access::Read, false), (Access::Write, false)]
            .map(|(access, privileged)| mpu.allows(access, 0x2000_1234, privileged, 0))
    }

    #[test]
    fn registers() {
        let mut mpu = Mpu::default();
        assert_eq!(mpu.read(0), 0x800);
        mpu.write(CTRL, u32::MAX);
        mpu.write(RNR, 2);
        mpu.write(RBAR, 0x2000_1fff);
        mpu.write(RASR, u32::MAX);
        // VALID was set: the write was for region 7, as REGION's low bits say.
        assert_eq!([CTRL, RNR, RBAR, RASR].map(|offset| mpu.read(offset)), [7, 7, 0x2000_1f07, 0x1707_ff3f]);
        mpu.write(RBAR, 0x1000_0000 | rbar::VALID | 3);
        assert_eq!([RNR, RBAR, RASR].map(|offset| mpu.read(offset)), [3, 0x1000_0003, 0]);
        mpu.write(RBAR, 0x3000_0000);
        assert_eq!((mpu.read(RNR), mpu.read(RBAR)), (3, 0x3000_0003));
    }

    #[test]
    fn access_permissions() {
        let (yes, no) = (true, false);
        let table = [0, 1, 2, 3, 4, 5, 6, 7].map(permitted);
        let expected = [
            [no, no, no, no],
            [yes, yes, no, no],
            [yes, yes, yes, no],
            [yes, yes, yes, yes],
            [no, no, no, no],
            [yes, no, no, no],
            [yes, no, yes, no],
            [yes, no, yes, no],
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn sizes_subregions_and_overlap() {
        let mut mpu = Mpu::default();
        let reads = |mpu: &Mpu, address| mpu.allows(Access::Read, address, true, 0);
        assert!(reads(&mpu, 0x2000_0000), "off");
        mpu.write(CTRL, 1);
        assert!(!reads(&mpu, 0x2000_0000), "no region, no default map");
        // 4 GB, all of it; 256 bytes of it without access, but for the third eighth.
        mpu.write(RASR, 3 << 24 | 31 << 1 | 1);
        assert!(reads(&mpu, 0) && reads(&mpu, u32::MAX));
        mpu.write(RBAR, 0x2000_0100 | rbar::VALID | 1);
        mpu.write(RASR, 1 << (8 + 2) | 7 << 1 | 1);
        let refused: Vec<u32> = (0x2000_00e0..0x2000_0220).step_by(32).filter(|&at| !reads(&mpu, at)).collect();
        assert_eq!(refused, [0, 0x20, 0x60, 0x80, 0xa0, 0xc0, 0xe0].map(|offset| 0x2000_0100 + offset));
        // An address that is not a multiple of the size is cut to one.
        mpu.write(RBAR, 0x2000_1100);
        mpu.write(RASR, 11 << 1 | 1);
        assert!(!reads(&mpu, 0x2000_1000) && !reads(&mpu, 0x2000_1fff) && reads(&mpu, 0x2000_2000));
        // A region that is too small is none.
        mpu.write(RASR, 4 << 1 | 1);
        assert!(reads(&mpu, 0x2000_1100));
    }

    #[test]
    fn default_map_private_bus_and_handlers() {
        let mut mpu = Mpu::default();
        let reads = |mpu: &Mpu, address, privileged, active| mpu.allows(Access::Read, address, privileged, active);
        mpu.write(CTRL, ctrl::ENABLE | ctrl::PRIVDEFENA);
        assert!(reads(&mpu, 0x4000_0000, true, 0) && !reads(&mpu, 0x4000_0000, false, 0));
        mpu.write(CTRL, ctrl::ENABLE);
        assert!(reads(&mpu, 0xe000_ed94, true, 0) && !reads(&mpu, 0xd000_0000, true, 0));
        assert!(reads(&mpu, 0x4000_0000, true, 1 << exception::HARD_FAULT), "HFNMIENA is clear");
        assert!(!reads(&mpu, 0x4000_0000, true, 1 << exception::SV_CALL));
        mpu.write(CTRL, ctrl::ENABLE | ctrl::HFNMIENA);
        assert!(!reads(&mpu, 0x4000_0000, true, 1 << exception::NMI));
    }

    #[test]
    fn execute_never() {
        let mut mpu = Mpu::default();
        mpu.write(RASR, 3 << 24 | 31 << 1 | 1);
        mpu.write(CTRL, 1);
        assert!(mpu.allows(Access::Fetch, 0x2000_0000, false, 0));
        mpu.write(RASR, rasr::XN | 3 << 24 | 31 << 1 | 1);
        assert!(!mpu.allows(Access::Fetch, 0x2000_0000, true, 0) && mpu.allows(Access::Write, 0x2000_0000, false, 0));
    }
}
