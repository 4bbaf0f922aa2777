//! The RP2350 in software: two cores, Cortex-M33 ([`armv8m`]) or Hazard3 ([`hazard3`]), the bus and one file per peripheral, named as in the
//! RP2350 datasheet. Deterministic: nothing here reads the host's clock, threads or random numbers.

mod attributed;
#[cfg(test)]
mod batch_tests;
mod bootrom;
mod bus;
pub mod chip;
mod chip_reset;
mod coprocessors;
mod cores;
mod debugger;
mod map;
mod mcu;
mod memory;
mod peripherals;
#[cfg(test)]
mod pio_tests;
mod wires;
#[cfg(test)]
mod xip_tests;

pub use armv8m as cpu;
pub use parts::{Inputs, PROBED, Sys, UsbPort, World, pins, sys, ticks, trace, world, xip_cache};

pub use bootrom::NO_BOOT_LOADER;
pub use chip::{Chip, ChipConfig, RunEnd};
pub use mcu::{FACTS, Rp2350};
