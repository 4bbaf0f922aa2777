//! The microcontroller's boot ROM, which is not part of this repository.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use crate::mcu::{BOOT_ROM, BootRom, Chip, Mcu};
use crate::wiring::Wiring;

/// The environment variable that names a file with the boot ROM.
pub(crate) const BOOTROM_VARIABLE: &str = BOOT_ROM.variable;

/// Reads the boot ROM: from the file that `PORTBENCH_BOOTROM` names, else from the user's cache, where
/// `python -m portbench_engine` saves it.
pub fn bootrom() -> Result<Vec<u8>, Error> {
    bootrom_of::<Chip<Wiring>>()
}

/// Like [`bootrom`], of the microcontroller `C`: from the file that [`BootRom::variable`] names, else from the cache.
pub fn bootrom_of<C: Mcu<Wiring>>() -> Result<Vec<u8>, Error> {
    let BootRom { bytes, variable, magic, magic_at, .. } = C::BOOT_ROM;
    let path = path_of(&C::BOOT_ROM);
    let shown = path.display();
    let rom = std::fs::read(&path).map_err(|error| {
        let saved = if variable == BOOTROM_VARIABLE { "run: python -m portbench_engine, or " } else { "" };
        let message = format!("{shown}: no boot ROM of the {} ({error}); {saved}name a file in {variable}", C::NAME);
        Error::new(error.kind(), message)
    })?;
    if rom.len() != bytes || !rom[magic_at..].starts_with(magic) {
        let message = format!("{shown}: not the boot ROM of the {}, which has {bytes} bytes", C::NAME);
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    Ok(rom)
}

/// Returns the file from which [`bootrom`] reads; it need not exist.
pub fn bootrom_path() -> PathBuf {
    path_of(&BOOT_ROM)
}

fn path_of(rom: &BootRom) -> PathBuf {
    std::env::var_os(rom.variable).map_or_else(|| cached(rom), PathBuf::from)
}

/// The file in the user's cache.
fn cached(rom: &BootRom) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let caches = if cfg!(target_os = "macos") {
        home().join("Library/Caches")
    } else {
        std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home().join(".cache"), PathBuf::from)
    };
    caches.join("portbench").join(rom.file)
}
