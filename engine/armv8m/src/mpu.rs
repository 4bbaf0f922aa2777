//! The memory protection unit of one security state: eight regions (Armv8-M ARM, PMSAv8).

use cpu::memory::Guard;
use sim::Snapshot;

const REGIONS: usize = 8;
const ENABLE: u32 = 1;
const HFNMIENA: u32 = 2;
const PRIVDEFENA: u32 = 4;

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
    rlar: u32,
}

#[derive(Debug, Default, Snapshot)]
pub(crate) struct Mpu {
    ctrl: u32,
    number: u32,
    regions: [Region; REGIONS],
    attributes: [u32; 2],
}

impl Mpu {
    #[inline]
    pub(crate) fn enabled(&self) -> bool {
        self.ctrl & ENABLE != 0
    }

    /// Returns what privileged code may not write or execute. `None`: it may not even read somewhere, since it has no other
    /// addresses than those of the regions, or they overlap.
    pub(crate) fn rules(&self) -> Option<Vec<Guard>> {
        if !self.enabled() {
            return Some(Vec::new());
        }
        let enabled = self.regions.iter().filter(|region| region.rlar & 1 != 0);
        let mut rules: Vec<Guard> = enabled
            .map(|Region { rbar, rlar }| Guard {
                addresses: rbar & !31..=rlar | 31,
                read_only: rbar & 4 != 0,
                never_executed: rbar & 1 != 0,
            })
            .filter(|rule| !rule.addresses.is_empty())
            .collect();
        rules.sort_by_key(|rule| *rule.addresses.start());
        let overlap = rules.windows(2).any(|pair| pair[0].addresses.end() >= pair[1].addresses.start());
        (self.ctrl & PRIVDEFENA != 0 && !overlap).then_some(rules)
    }

    /// Returns the only region that holds `address`; `Err`: several do, which is a fault.
    pub(crate) fn region(&self, address: u32) -> Result<Option<u32>, ()> {
        let mut found = None;
        for (number, region) in self.regions.iter().enumerate() {
            if region.rlar & 1 != 0 && address >= region.rbar & !31 && address <= region.rlar | 31 {
                if found.is_some() {
                    return Err(());
                }
                found = Some(number as u32);
            }
        }
        Ok(found)
    }

    /// Returns whether the access may be made. `negative`: HardFault, NMI or FAULTMASK is active.
    pub(crate) fn allows(&self, access: Access, address: u32, privileged: bool, negative: bool) -> bool {
        let system = access == Access::Fetch && address >> 29 >= 5;
        let peripheral = access == Access::Fetch && address >> 29 == 2;
        if !self.enabled() || negative && self.ctrl & HFNMIENA == 0 || address >> 20 == 0xe00 {
            return !system && !peripheral;
        }
        match self.region(address) {
            Err(()) => false,
            Ok(None) => privileged && self.ctrl & PRIVDEFENA != 0 && !system && !peripheral,
            Ok(Some(number)) => {
                let rbar = self.regions[number as usize].rbar;
                let (unprivileged, read_only, never) = (rbar & 2 != 0, rbar & 4 != 0, rbar & 1 != 0);
                (privileged || unprivileged)
                    && match access {
                        Access::Fetch => !never && !system,
                        Access::Read => true,
                        Access::Write => !read_only,
                    }
            }
        }
    }

    /// Reads the register at `offset` from MPU_TYPE.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        let alias = |step: u32| self.regions[((self.number & !3) + step) as usize & 7];
        match offset {
            0x00 => (REGIONS as u32) << 8,
            0x04 => self.ctrl,
            0x08 => self.number,
            0x0c => self.regions[self.number as usize].rbar,
            0x10 => self.regions[self.number as usize].rlar,
            0x14 | 0x1c | 0x24 => alias((offset - 0xc) / 8).rbar,
            0x18 | 0x20 | 0x28 => alias((offset - 0x10) / 8).rlar,
            0x30 | 0x34 => self.attributes[(offset as usize - 0x30) / 4],
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32) {
        let aliased = |register: u32| ((self.number & !3) + (offset - register) / 8) as usize & 7;
        match offset {
            0x04 => self.ctrl = value & (ENABLE | HFNMIENA | PRIVDEFENA),
            0x08 => self.number = value & 7,
            0x0c => self.regions[self.number as usize].rbar = value,
            0x10 => self.regions[self.number as usize].rlar = value,
            0x14 | 0x1c | 0x24 => self.regions[aliased(0xc)].rbar = value,
            0x18 | 0x20 | 0x28 => self.regions[aliased(0x10)].rlar = value,
            0x30 | 0x34 => self.attributes[(offset as usize - 0x30) / 4] = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_bounds_and_permissions() {
        let mut mpu = Mpu::default();
        assert!(mpu.allows(Access::Write, 0x2000_0000, false, false), "off");
        assert!(!mpu.allows(Access::Fetch, 0x4000_0000, true, false), "peripherals never execute");
        mpu.write(4, ENABLE);
        assert!(
            !mpu.allows(Access::Read, 0x2000_0000, true, false) && mpu.allows(Access::Read, 0x2000_0000, true, true)
        );
        mpu.write(0xc, 0x2000_0000 | 0b111);
        mpu.write(0x10, 0x2000_0fe0 | 1);
        let at = |access, address| mpu.allows(access, address, false, false);
        assert_eq!(
            [0x1fff_ffff, 0x2000_0000, 0x2000_0fff, 0x2000_1000].map(|a| at(Access::Read, a)),
            [false, true, true, false]
        );
        assert!(!at(Access::Write, 0x2000_0000) && !at(Access::Fetch, 0x2000_0000));
    }

    #[test]
    fn two_regions_at_one_address_refuse_it() {
        let mut mpu = Mpu::default();
        mpu.write(4, ENABLE | PRIVDEFENA);
        for (rbar, rlar) in [(0xc, 0x10), (0x14, 0x18)] {
            mpu.write(rbar, 0x2000_0002);
            mpu.write(rlar, 0x2000_0001);
        }
        assert_eq!((mpu.region(0x2000_0000), mpu.region(0x2000_0020)), (Err(()), Ok(None)));
        assert!(
            !mpu.allows(Access::Read, 0x2000_0000, true, false) && mpu.allows(Access::Read, 0x2000_0020, true, false)
        );
    }
}
