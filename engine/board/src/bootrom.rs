//! The microcontroller's boot ROM, which is not part of this repository, or one of our own in its place.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use crate::mcu::Facts;

/// Reads the boot ROM of `mcu`: from the file that its variable names (`PORTBENCH_BOOTROM` for the RP2040), else from
/// the user's cache, where `python -m portbench_engine` saves it. Without either, returns our own if there is one.
pub fn bootrom(mcu: &Facts) -> Result<Vec<u8>, Error> {
    let missing = std::env::var_os(mcu.boot_rom.variable).is_none() && !bootrom_path(mcu).exists();
    match mcu.boot_rom.own {
        Some(own) if missing => Ok(own()),
        _ => chips_own(mcu),
    }
}

/// Reads the boot ROM of the chip itself.
fn chips_own(mcu: &Facts) -> Result<Vec<u8>, Error> {
    let (name, rom_facts) = (mcu.name, &mcu.boot_rom);
    let (bytes, variable) = (rom_facts.bytes, rom_facts.variable);
    let path = bootrom_path(mcu);
    let shown = path.display();
    let rom = std::fs::read(&path).map_err(|error| {
        let fix = format!("run: python -m portbench_engine {name}, or name a file in {variable}");
        let message = format!("{shown}: no boot ROM of the {name} ({error}); {fix}");
        Error::new(error.kind(), message)
    })?;
    if rom.len() != bytes || !rom[rom_facts.magic_at..].starts_with(rom_facts.magic) {
        let message = format!("{shown}: not the boot ROM of the {name}, which has {bytes} bytes");
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    Ok(rom)
}

/// Returns the file from which [`bootrom`] reads; it need not exist.
pub fn bootrom_path(mcu: &Facts) -> PathBuf {
    std::env::var_os(mcu.boot_rom.variable).map_or_else(|| cached(mcu.boot_rom.file), PathBuf::from)
}

/// The file in the user's cache.
fn cached(file: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let caches = if cfg!(target_os = "macos") {
        home().join("Library/Caches")
    } else {
        std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home().join(".cache"), PathBuf::from)
    };
    caches.join("portbench").join(file)
}
