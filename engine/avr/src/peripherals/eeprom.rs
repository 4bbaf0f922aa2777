//! EEPROM (ATmega2560 datasheet 8.3 and 9.4). It keeps its contents through resets, not through power cycles.

use chip::Sys;
use sim::{NEVER, PS_PER_US, Ps};

use crate::device::event;

pub(crate) const EECR: u16 = 0x3f;
pub(crate) const EEDR: u16 = 0x40;
pub(crate) const EEARL: u16 = 0x41;
pub(crate) const EEARH: u16 = 0x42;

mod eecr {
    pub(super) const EEPM: u8 = 0x30;
    pub(super) const EERIE: u8 = 0x08;
    pub(super) const EEMPE: u8 = 0x04;
    pub(super) const EEPE: u8 = 0x02;
    pub(super) const EERE: u8 = 0x01;
}

/// Erase and write in one operation, erase only, write only (table 9-1).
const TIMES: [Ps; 3] = [3_300 * PS_PER_US, 1_800 * PS_PER_US, 1_800 * PS_PER_US];
/// Cycles for which the core stands still.
const READ_CYCLES: u64 = 4;
const WRITE_CYCLES: u64 = 2;
/// Cycles for which EEMPE stays set.
const MASTER_CYCLES: u64 = 4;

pub(crate) struct Eeprom {
    bytes: Vec<u8>,
    control: u8,
    /// Cycle up to which EEPE may be set.
    enabled_until: u64,
    busy: bool,
    data: u8,
    address: u16,
}

impl Eeprom {
    pub(crate) fn new(bytes: u16) -> Self {
        Self { bytes: vec![0xff; bytes.into()], control: 0, enabled_until: 0, busy: false, data: 0, address: 0 }
    }

    pub(crate) fn read(&self, sys: &Sys, address: u16) -> u8 {
        match address {
            EECR => {
                let enabled = if sys.cycle < self.enabled_until { eecr::EEMPE } else { 0 };
                self.control | enabled | if self.busy { eecr::EEPE } else { 0 }
            }
            EEDR => self.data,
            EEARL => self.address as u8,
            _ => (self.address >> 8) as u8,
        }
    }

    /// Returns the cycles for which the core stands still.
    pub(crate) fn write(&mut self, sys: &mut Sys, address: u16, value: u8) -> u64 {
        let mask = self.bytes.len() as u16 - 1;
        match address {
            EECR => return self.control(sys, value),
            _ if self.busy => {}
            EEDR => self.data = value,
            EEARL => self.address = self.address & 0xff00 | u16::from(value),
            _ => self.address = (self.address & 0xff | u16::from(value) << 8) & mask,
        }
        0
    }

    fn control(&mut self, sys: &mut Sys, value: u8) -> u64 {
        self.control = value & eecr::EERIE | if self.busy { self.control & eecr::EEPM } else { value & eecr::EEPM };
        let at_address = usize::from(self.address) % self.bytes.len();
        if value & eecr::EEPE != 0 && sys.cycle < self.enabled_until && !self.busy {
            let mode = usize::from(value >> 4 & 3);
            let Some(&time) = TIMES.get(mode) else {
                sys.unmodelled("EECR.EEPM = 3, which is reserved".into());
                return 0;
            };
            let byte = &mut self.bytes[at_address];
            *byte = match mode {
                0 => self.data,
                1 => 0xff,
                _ => *byte & self.data,
            };
            self.busy = true;
            self.enabled_until = 0;
            sys.schedule(event::EEPROM, sys.now() + time);
            return WRITE_CYCLES;
        }
        if value & eecr::EEMPE != 0 {
            self.enabled_until = sys.cycle + 1 + MASTER_CYCLES;
        }
        if value & eecr::EERE != 0 && !self.busy {
            self.data = self.bytes[at_address];
            return READ_CYCLES;
        }
        0
    }

    pub(crate) fn event(&mut self) {
        self.busy = false;
    }

    pub(crate) fn pending(&self) -> bool {
        self.control & eecr::EERIE != 0 && !self.busy
    }

    pub(crate) fn reset(&mut self, sys: &mut Sys) {
        let bytes = std::mem::take(&mut self.bytes);
        *self = Self { bytes, ..Self::new(0) };
        sys.schedule(event::EEPROM, NEVER);
    }
}
