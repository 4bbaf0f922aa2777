//! Fuses (ATmega2560 datasheet 30.2): the clock, the start-up time, where a reset begins. Those that only concern
//! programmers and debuggers, and the brown-out detector, have no effect here.

use sim::{PS_PER_MS, PS_PER_US, Ps};

/// The fuse bytes; a programmed fuse is a 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fuses {
    pub low: u8,
    pub high: u8,
    pub extended: u8,
}

/// The calibrated oscillator, and the watchdog's as a clock.
const RC_HZ: u64 = 8_000_000;
const SLOW_HZ: u64 = 128_000;

impl Fuses {
    fn cksel(self) -> u8 {
        self.low & 0xf
    }

    /// Returns the frequency of the clock source. `crystal_hz`: that of the crystal or of the clock at XTAL1.
    pub fn source_hz(self, crystal_hz: u64) -> u64 {
        match self.cksel() {
            2 => RC_HZ,
            3 => SLOW_HZ,
            _ => crystal_hz,
        }
    }

    /// Returns CLKPR's CLKPS after a reset: a division by 8 with CKDIV8.
    pub fn prescaler(self) -> u8 {
        if self.low & 0x80 == 0 { 3 } else { 0 }
    }

    /// Returns the clocks from a wake-up out of power-down, and the time that a reset adds.
    pub fn start_up(self) -> (u64, Ps) {
        let short = 4_100 * PS_PER_US;
        let long = 65 * PS_PER_MS;
        let sut = self.low >> 4 & 3;
        match self.cksel() {
            // External clock, and the oscillators in the chip.
            0..=3 => (6, [0, short, long, long][usize::from(sut)]),
            // Crystals and resonators.
            cksel => match (cksel & 1, sut) {
                (0, 0) => (258, short),
                (0, 1) => (258, long),
                (0, 2) => (1 << 10, 0),
                (0, _) => (1 << 10, short),
                (_, 0) => (1 << 10, long),
                (_, 1) => (16 << 10, 0),
                (_, 2) => (16 << 10, short),
                _ => (16 << 10, long),
            },
        }
    }

    /// Returns the word address at which a reset begins. `flash_bytes`: the chip's.
    pub fn reset_address(self, flash_bytes: usize) -> u32 {
        if self.high & 1 != 0 {
            return 0;
        }
        let boot_words = 512 << (3 - (self.high >> 1 & 3));
        (flash_bytes / 2) as u32 - boot_words
    }

    /// Returns whether the watchdog always runs and resets (WDTON).
    pub fn watchdog_always_on(self) -> bool {
        self.high & 0x10 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arduino_mega_starts_its_crystal_for_65_ms() {
        let fuses = Fuses { low: 0xff, high: 0xd8, extended: 0xfd };
        assert_eq!(fuses.source_hz(16_000_000), 16_000_000);
        assert_eq!(fuses.start_up(), (16_384, 65 * PS_PER_MS));
        assert_eq!((fuses.prescaler(), fuses.watchdog_always_on()), (0, false));
        assert_eq!(fuses.reset_address(256 << 10), 0x1_f000);
        assert_eq!(Fuses { high: 0xd9, ..fuses }.reset_address(256 << 10), 0);
    }

    #[test]
    fn a_new_chip_runs_at_1_mhz() {
        let fuses = Fuses { low: 0x62, high: 0x99, extended: 0xff };
        assert_eq!(fuses.source_hz(16_000_000) >> fuses.prescaler(), 1_000_000);
    }
}
