//! The modelled microcontroller. No other file of this crate and of the binding names one.

pub(crate) use parts::mcu::{BootRom, Halt, Mcu};
pub use parts::mcu::{ChipConfig, RunEnd};
pub use rp2040::Chip;
pub use rp2040::bus::Master;
pub use rp2040::cpu::core::State;
pub use rp2040::memory::{RAM_BASE, RAM_SIZE, XIP_BASE};
pub use rp2040::probe::profile;

use crate::wiring::Wiring;

type Modelled = Chip<Wiring>;

/// The microcontroller's name.
pub const NAME: &str = <Modelled as Mcu<Wiring>>::NAME;
/// Where to get the microcontroller's boot ROM, and its hash.
pub const BOOT_ROM: BootRom = <Modelled as Mcu<Wiring>>::BOOT_ROM;
/// Smallest and largest flash chip, in bytes.
pub const FLASH_BYTES: (usize, usize) = <Modelled as Mcu<Wiring>>::FLASH_BYTES;
/// Number of GPIOs.
pub const PINS: u32 = <Modelled as Mcu<Wiring>>::PINS;
