//! The security attribution unit: eight regions (Armv8-M ARM).

use sim::Snapshot;
use std::ops::RangeInclusive;

use crate::bus::Attribution;

const REGIONS: usize = 8;
const ENABLE: u32 = 1;
const ALLNS: u32 = 2;

#[derive(Debug, Snapshot)]
pub(crate) struct Sau {
    ctrl: u32,
    number: u32,
    regions: [(u32, u32); REGIONS],
    pub status: u32,
    pub fault_address: u32,
    /// Every address outside of these is Secure.
    open: RangeInclusive<u32>,
}

/// Nothing is open.
const NOWHERE: RangeInclusive<u32> = RangeInclusive::new(u32::MAX, 0);

impl Default for Sau {
    fn default() -> Self {
        Self { ctrl: 0, number: 0, regions: [(0, 0); REGIONS], status: 0, fault_address: 0, open: NOWHERE }
    }
}

impl Sau {
    /// Returns whether any of the addresses from `first` to `last` can be other than Secure.
    #[inline]
    pub(crate) fn opens(&self, first: u32, last: u32) -> bool {
        *self.open.start() <= last && first <= *self.open.end() && !self.open.is_empty()
    }

    /// Returns addresses outside of which all are Secure.
    pub(crate) fn opened(&self) -> RangeInclusive<u32> {
        self.open.clone()
    }

    fn find_open(&self) -> RangeInclusive<u32> {
        match self.ctrl & (ENABLE | ALLNS) {
            0 => NOWHERE,
            ALLNS => 0..=u32::MAX,
            _ => self
                .regions
                .iter()
                .filter(|(_, limit)| limit & 1 != 0)
                .fold(NOWHERE, |open, &(base, limit)| *open.start().min(&base)..=*open.end().max(&(limit | 31))),
        }
    }

    /// Returns the region that holds `address`; `Err`: several do, which makes it Secure.
    pub(crate) fn region(&self, address: u32) -> Result<Option<u32>, ()> {
        if self.ctrl & ENABLE == 0 {
            return Ok(None);
        }
        let holds = |&(base, limit): &(u32, u32)| limit & 1 != 0 && address >= base && address <= limit | 31;
        let mut found = self.regions.iter().enumerate().filter(|(_, region)| holds(region));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(()),
            (Some((number, _)), None) => Ok(Some(number as u32)),
            _ => Ok(None),
        }
    }

    /// Returns the security of `address`, to which the chip gives `by_chip`: the stricter one holds.
    pub(crate) fn attribution(&self, address: u32, by_chip: Attribution) -> Attribution {
        use Attribution::{Callable, Exempt, NonSecure, Secure};
        if by_chip == Exempt {
            return Exempt;
        }
        let own = match self.region(address) {
            _ if self.ctrl & (ENABLE | ALLNS) == ALLNS => NonSecure,
            Ok(Some(number)) if self.regions[number as usize].1 & 2 != 0 => Callable,
            Ok(Some(_)) => NonSecure,
            _ => Secure,
        };
        match (own, by_chip) {
            (Secure, _) | (_, Secure) => Secure,
            (Callable, _) | (_, Callable) => Callable,
            _ => NonSecure,
        }
    }

    /// Reads the register at `offset` from SAU_CTRL.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        let region = self.regions[self.number as usize];
        match offset {
            0x00 => self.ctrl,
            0x04 => REGIONS as u32,
            0x08 => self.number,
            0x0c => region.0,
            0x10 => region.1,
            0x14 => self.status,
            0x18 => self.fault_address,
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32) {
        let region = &mut self.regions[self.number as usize];
        match offset {
            0x00 => self.ctrl = value & (ENABLE | ALLNS),
            0x08 => self.number = value & 7,
            0x0c => region.0 = value & !31,
            0x10 => region.1 = value & !28,
            0x14 => self.status &= !value,
            0x18 => self.fault_address = value,
            _ => {}
        }
        self.open = self.find_open();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_attribution_holds() {
        use Attribution::*;
        let mut sau = Sau::default();
        assert_eq!(sau.attribution(0x2000_0000, NonSecure), Secure, "off");
        sau.write(0, ALLNS);
        assert_eq!(sau.attribution(0x2000_0000, NonSecure), NonSecure);
        assert_eq!([Secure, Callable, Exempt].map(|chip| sau.attribution(0, chip)), [Secure, Callable, Exempt]);
        sau.write(0, ENABLE);
        sau.write(0xc, 0x2000_0000);
        sau.write(0x10, 0x2000_00e1);
        assert_eq!([0x2000_00ff, 0x2000_0100].map(|at| sau.attribution(at, NonSecure)), [NonSecure, Secure]);
        sau.write(8, 1);
        sau.write(0xc, 0x2000_0080);
        sau.write(0x10, 0x2000_0083);
        assert_eq!(sau.attribution(0x2000_0080, NonSecure), Secure, "two regions");
        assert_eq!(sau.region(0x2000_0010), Ok(Some(0)));
    }

    #[test]
    fn what_no_region_reaches_is_not_open() {
        let mut sau = Sau::default();
        assert!(!sau.opens(0, u32::MAX), "off");
        sau.write(0, ALLNS);
        assert!(sau.opens(0x2000_0000, 0x2000_0000));
        sau.write(0, ENABLE);
        assert!(!sau.opens(0, u32::MAX), "no region");
        for (number, base, limit) in [(0, 0x4000, 0x5001), (1, 0x7000, 0x7fe3), (2, 0x2000_0000, 0x2000_0fe0)] {
            sau.write(8, number);
            sau.write(0xc, base);
            sau.write(0x10, limit);
        }
        let open = [(0, 0x3fff), (0, 0x4000), (0x5020, 0x6fff), (0x7fff, 0x7fff), (0x8000, u32::MAX)];
        assert_eq!(open.map(|(first, last)| sau.opens(first, last)), [false, true, true, true, false]);
    }
}
