//! The security attribution unit: eight regions (Armv8-M ARM).

use crate::bus::Attribution;

const REGIONS: usize = 8;
const ENABLE: u32 = 1;
const ALLNS: u32 = 2;

#[derive(Debug, Default)]
pub struct Sau {
    ctrl: u32,
    number: u32,
    regions: [(u32, u32); REGIONS],
    pub status: u32,
    pub fault_address: u32,
}

impl Sau {
    /// Returns whether any address can be Non-secure.
    #[inline]
    pub fn divides(&self) -> bool {
        self.ctrl & ENABLE != 0 || self.ctrl & ALLNS != 0
    }

    /// Returns the region that holds `address`; `Err`: several do, which makes it Secure.
    pub fn region(&self, address: u32) -> Result<Option<u32>, ()> {
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
    pub fn attribution(&self, address: u32, by_chip: Attribution) -> Attribution {
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
    pub fn read(&self, offset: u32) -> u32 {
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

    pub fn write(&mut self, offset: u32, value: u32) {
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
}
