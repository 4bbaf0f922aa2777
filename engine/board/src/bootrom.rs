//! The microcontroller's boot ROM, which is not part of this repository.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

use crate::mcu::{BOOT_ROM, NAME};

/// The environment variable that names a file with the boot ROM.
pub(crate) const BOOTROM_VARIABLE: &str = "PORTBENCH_BOOTROM";

/// Reads the boot ROM: from the file that `PORTBENCH_BOOTROM` names, else from the user's cache, where
/// `python -m portbench.boards.emulated.bootrom` saves it.
pub fn bootrom() -> Result<Vec<u8>, Error> {
    let path = std::env::var_os(BOOTROM_VARIABLE).map_or_else(cached, PathBuf::from);
    let shown = path.display();
    let rom = std::fs::read(&path).map_err(|error| {
        let fix = "run: python -m portbench.boards.emulated.bootrom, or name a file in PORTBENCH_BOOTROM";
        Error::new(error.kind(), format!("{shown}: no boot ROM ({error}); {fix}"))
    })?;
    if rom.len() != BOOT_ROM.bytes || !rom[BOOT_ROM.magic_at..].starts_with(BOOT_ROM.magic) {
        let message = format!("{shown}: not the boot ROM of the {NAME}, which has {} bytes", BOOT_ROM.bytes);
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    Ok(rom)
}

/// The file in the user's cache, where Python's platformdirs has it.
fn cached() -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let caches = if cfg!(target_os = "macos") {
        home().join("Library/Caches")
    } else {
        std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home().join(".cache"), PathBuf::from)
    };
    caches.join("portbench").join(BOOT_ROM.file)
}
