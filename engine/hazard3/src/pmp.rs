//! Physical memory protection (datasheet 3.8.3): eight regions to set, three fixed ones, granules of 32 bytes.

use sim::Snapshot;

const REGIONS: usize = 8;
/// Addresses and configuration of the fixed regions: ROM, peripherals and SIO (datasheet 3.8.8.1).
const FIXED: [u32; 3] = [0x01ff_ffff, 0x13ff_ffff, 0x35ff_ffff];
const FIXED_CONFIG: u32 = 0x001f_1f1f;
/// Address bits below the granule.
const GRANULE: u32 = 7;

/// Fields of a configuration byte. Erratum RP2350-E6: R and X have changed places.
mod config {
    pub(super) const READ: u8 = 4;
    pub(super) const WRITE: u8 = 2;
    pub(super) const EXECUTE: u8 = 1;
    pub(super) const NAPOT: u8 = 3 << 3;
    pub(super) const LOCK: u8 = 1 << 7;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Fetch,
}

#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub(crate) struct Pmp {
    config: [u8; REGIONS],
    address: [u32; REGIONS],
    /// PMPCFGM0: regions that bind Machine mode without a lock.
    machine: u8,
}

impl Pmp {
    /// Reads PMPCFG0 to PMPCFG3.
    pub(crate) fn config(&self, index: usize) -> u32 {
        match index {
            0 | 1 => (0..4).fold(0, |word, at| word | u32::from(self.config[4 * index + at]) << (8 * at)),
            2 => FIXED_CONFIG,
            _ => 0,
        }
    }

    pub(crate) fn set_config(&mut self, index: usize, value: u32) {
        for at in 0..4 {
            let Some(byte) = self.config.get_mut(4 * index + at) else { return };
            if *byte & config::LOCK == 0 {
                let new = (value >> (8 * at)) as u8 & 0x9f;
                // Only OFF and NAPOT are supported, and NA4 is less than a granule.
                *byte = if new & config::NAPOT == config::NAPOT { new } else { new & !config::NAPOT };
            }
        }
    }

    /// Reads PMPADDR0 to PMPADDR15.
    pub(crate) fn address(&self, index: usize) -> u32 {
        match index {
            0..REGIONS => {
                // The granule's bits are ones in a region that is on.
                let on = self.config[index] & config::NAPOT != 0;
                self.address[index] & !(GRANULE >> 1) | if on { GRANULE >> 1 } else { 0 }
            }
            8..=10 => FIXED[index - 8],
            _ => 0,
        }
    }

    pub(crate) fn set_address(&mut self, index: usize, value: u32) {
        if index < REGIONS && self.config[index] & config::LOCK == 0 {
            self.address[index] = value & 0x3fff_ffff;
        }
    }

    pub(crate) fn machine(&self) -> u32 {
        self.machine.into()
    }

    pub(crate) fn set_machine(&mut self, value: u32) {
        self.machine = value as u8;
    }

    /// Returns whether any region concerns Machine mode.
    pub(crate) fn binds_machine(&self) -> bool {
        (0..REGIONS).any(|at| self.config[at] & config::NAPOT != 0 && self.binds(at))
    }

    fn binds(&self, region: usize) -> bool {
        region < REGIONS && (self.machine >> region & 1 != 0 || self.config[region] & config::LOCK != 0)
    }

    /// Returns whether `size` bytes at `address` may be accessed. All of them must be in the region with the lowest
    /// number that has any of them.
    pub(crate) fn allows(&self, access: Access, address: u32, size: u32, machine: bool) -> bool {
        for region in 0..REGIONS + FIXED.len() {
            let granted = if region < REGIONS { self.config[region] } else { FIXED_CONFIG as u8 };
            if granted & config::NAPOT == 0 {
                continue;
            }
            let napot = if region < REGIONS { self.address[region] | GRANULE >> 1 } else { FIXED[region - REGIONS] };
            // The trailing ones and the zero above them are not compared.
            let mask = !(u64::from(napot ^ (napot + 1)) << 2 | 3) as u32;
            let inside = |at: u32| (at ^ napot << 2) & mask == 0;
            let (first, last) = (inside(address), inside(address.wrapping_add(size - 1)));
            if !first && !last {
                continue;
            }
            if machine && !self.binds(region) {
                return true;
            }
            let needed = match access {
                Access::Read => config::READ,
                Access::Write => config::WRITE,
                Access::Fetch => config::EXECUTE,
            };
            return first && last && granted & needed != 0;
        }
        machine
    }
}
