//! External interrupts and pin change interrupts (ATmega2560 datasheet 15).

use crate::device::Device;

pub(crate) const PCIFR: u16 = 0x3b;
pub(crate) const EIFR: u16 = 0x3c;
pub(crate) const EIMSK: u16 = 0x3d;
pub(crate) const PCICR: u16 = 0x68;
pub(crate) const EICRA: u16 = 0x69;
pub(crate) const EICRB: u16 = 0x6a;
pub(crate) const PCMSK0: u16 = 0x6b;

/// EICRA and EICRB: what a pin raises its interrupt by.
const LOW: u16 = 0;
const ANY_EDGE: u16 = 1;
const FALLING: u16 = 2;

pub(crate) struct Interrupts {
    device: &'static Device,
    /// Two bits for each external interrupt.
    sense: u16,
    enabled: u8,
    flags: u8,
    change_enabled: u8,
    change_flags: u8,
    change_masks: [u8; 4],
    /// Levels of the pins when they were last looked at.
    levels: u64,
}

impl Interrupts {
    pub(crate) fn new(device: &'static Device) -> Self {
        Self {
            device,
            sense: 0,
            enabled: 0,
            flags: 0,
            change_enabled: 0,
            change_flags: 0,
            change_masks: [0; 4],
            levels: 0,
        }
    }

    fn sense(&self, n: usize) -> u16 {
        self.sense >> (2 * n) & 3
    }

    /// Looks at the levels of the pins.
    pub(crate) fn look(&mut self, levels: u64) {
        let changed = levels ^ self.levels;
        self.levels = levels;
        if changed == 0 {
            return;
        }
        for (n, &pin) in self.device.external.iter().enumerate() {
            if changed >> pin & 1 != 0 {
                let high = levels >> pin & 1 != 0;
                let raises = match self.sense(n) {
                    LOW => false,
                    ANY_EDGE => true,
                    FALLING => !high,
                    _ => high,
                };
                self.flags |= u8::from(raises) << n;
            }
        }
        for (group, change) in self.device.pin_changes.iter().enumerate() {
            let watched = change.pins.iter().enumerate().filter(|(bit, _)| self.change_masks[group] >> bit & 1 != 0);
            if watched.filter_map(|(_, pin)| *pin).any(|pin| changed >> pin & 1 != 0) {
                self.change_flags |= 1 << group;
            }
        }
    }

    fn mask_index(&self, address: u16) -> Option<usize> {
        // PCMSK3 is where a chip without it has TIMSK5.
        let index = if address == 0x73 { 3 } else { usize::from(address.checked_sub(PCMSK0)?) };
        (index < self.device.pin_changes.len() && (index < 3 || address == 0x73)).then_some(index)
    }

    pub(crate) fn has(&self, address: u16) -> bool {
        matches!(address, PCIFR..=EIMSK | PCICR..=EICRB) || self.mask_index(address).is_some()
    }

    pub(crate) fn read(&self, address: u16) -> u8 {
        match address {
            PCIFR => self.change_flags,
            EIFR => self.flags,
            EIMSK => self.enabled,
            PCICR => self.change_enabled,
            EICRA => self.sense as u8,
            EICRB => (self.sense >> 8) as u8,
            _ => self.mask_index(address).map_or(0, |index| self.change_masks[index]),
        }
    }

    pub(crate) fn write(&mut self, address: u16, value: u8) {
        let externals = (1u16 << self.device.external.len()) - 1;
        let changes = (1u8 << self.device.pin_changes.len()) - 1;
        match address {
            PCIFR => self.change_flags &= !value,
            EIFR => self.flags &= !value,
            EIMSK => self.enabled = value & externals as u8,
            PCICR => self.change_enabled = value & changes,
            EICRA => self.sense = self.sense & 0xff00 | u16::from(value),
            EICRB => self.sense = self.sense & 0xff | u16::from(value) << 8,
            _ => {
                if let Some(index) = self.mask_index(address) {
                    self.change_masks[index] = value;
                }
            }
        }
    }

    /// Returns the pending and enabled interrupts, as bits by vector number.
    pub(crate) fn pending(&self) -> u64 {
        let mut pending = 0;
        for (n, &pin) in self.device.external.iter().enumerate().filter(|(n, _)| self.enabled >> n & 1 != 0) {
            let is_low = self.sense(n) == LOW && self.levels >> pin & 1 == 0;
            pending |= u64::from(is_low || self.flags >> n & 1 != 0) << (n + 1);
        }
        for (group, change) in self.device.pin_changes.iter().enumerate() {
            pending |= u64::from((self.change_flags & self.change_enabled) >> group & 1) << change.vector;
        }
        pending
    }

    /// Clears the flag of the interrupt whose handler starts.
    pub(crate) fn acknowledge(&mut self, vector: u32) {
        if (1..=self.device.external.len() as u32).contains(&vector) {
            self.flags &= !(1 << (vector - 1));
        }
        if let Some(group) = self.device.pin_changes.iter().position(|change| change.vector == vector) {
            self.change_flags &= !(1 << group);
        }
    }

    /// Returns the vectors that wake the chip from every sleep.
    pub(crate) fn vectors(&self) -> u64 {
        let external = ((1u64 << self.device.external.len()) - 1) << 1;
        self.device.pin_changes.iter().fold(external, |vectors, change| vectors | 1 << change.vector)
    }

    pub(crate) fn reset(&mut self) {
        *self = Self { levels: self.levels, ..Self::new(self.device) };
    }
}
