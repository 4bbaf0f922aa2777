//! The board's microcontroller. No other file of this crate and of the binding names one.

pub use rp2040::bus::Master;
pub use rp2040::cpu::core::{Core, State};
pub use rp2040::cpu::debugger;
pub use rp2040::cpu::memory::Contents;
pub use rp2040::memory::{RAM_BASE, RAM_SIZE, ROM_SIZE, XIP_BASE};
pub use rp2040::probe::{debug::Halt, profile};
pub use rp2040::{Chip, ChipConfig, NAME, RunEnd};

/// The UF2 specification's number for images of this microcontroller.
pub const UF2_FAMILY: u32 = 0xe48b_ff56;
/// The boot ROM's file in the user's cache.
pub const BOOTROM_FILE: &str = "rp2040-bootrom-b1.bin";
/// The boot ROM's magic number and its place (datasheet 2.8.3).
pub const ROM_MAGIC: &[u8] = b"Mu\x01";
pub const ROM_MAGIC_AT: usize = 0x10;
