//! A boot ROM of our own, for boards without the chip's: `bootrom/` has its source, and `make` there builds it.
//!
//! It starts a program in flash as the chip does, at the same time, and has the functions that programs call. Any
//! other request ends the run by name.

use crate::rp2350::memory::ROM_SIZE;

/// Its code; the rest of the ROM is 0.
const PROGRAM: &[u8] = include_bytes!("bootrom/rom.bin");

/// The address to which it reports a request that it refuses. A write to ROM does nothing on the chip.
pub(crate) const REFUSED: u32 = 0x7ffc;

/// Values of [`REFUSED`] other than the two letters of a function.
mod refused {
    pub(super) const USB_BOOT_LOADER: u32 = 0;
    pub(super) const RAM_IMAGE: u32 = 1;
    pub(super) const NON_SECURE: u32 = 2;
    pub(super) const ROLLING_WINDOW: u32 = 5;
    pub(super) const RISCV: u32 = 6;
}

/// The refusal where the USB boot loader would start.
pub const NO_BOOT_LOADER: &str = "no program in flash, or BOOTSEL: the USB boot loader";

/// Returns the whole ROM.
#[must_use]
pub(crate) fn own() -> Vec<u8> {
    let mut rom = PROGRAM.to_vec();
    rom.resize(ROM_SIZE, 0);
    rom
}

/// Returns whether `rom` is that one.
pub(crate) fn is_own(rom: &[u8]) -> bool {
    rom.strip_prefix(PROGRAM).is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
}

/// Returns the line that ends a run.
pub(crate) fn refusal(what: u32) -> String {
    let what = match what {
        refused::USB_BOOT_LOADER => NO_BOOT_LOADER.into(),
        refused::RAM_IMAGE => "a program in SRAM".into(),
        refused::NON_SECURE => "a function for Non-secure programs".into(),
        refused::RISCV => "a program for the RISC-V cores".into(),
        refused::ROLLING_WINDOW => "a program that does not begin at the start of flash".into(),
        code => format!("the function {}{}", char::from(code as u8), char::from((code >> 8) as u8)),
    };
    format!("{what} needs the RP2350's own boot ROM; run: python -m portbench_engine RP2350")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_from_others() {
        let mut rom = own();
        assert!(rom.len() == ROM_SIZE && is_own(&rom));
        rom[ROM_SIZE - 1] = 1;
        assert!(!is_own(&rom) && !is_own(&[]));
    }

    #[test]
    fn its_header_is_that_of_the_datasheet() {
        let rom = own();
        let facts = &crate::rp2350::FACTS.boot_rom;
        assert!(rom[facts.magic_at..].starts_with(facts.magic));
        // The table's look-up is Thumb code.
        assert_eq!(rom[0x16] & 1, 1);
    }

    #[test]
    fn a_refusal_names_the_function() {
        let code = u32::from(u16::from_le_bytes(*b"FO"));
        assert!(refusal(code).starts_with("the function FO needs the RP2350's own boot ROM; run: "));
    }
}
