//! The RP2350: two cores, Cortex-M33 ([`armv8m`]) or Hazard3 ([`hazard3`]), and the parts of its bus that RP2040 lacks.

mod bootrom;
pub(crate) mod bus;
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
pub use chip::mcu::{ChipConfig, RunEnd};
pub use chip::{Inputs, PROBED, Sys, World, pins, sys, ticks, trace, world, xip_cache};

pub use bootrom::NO_BOOT_LOADER;
pub use mcu::{FACTS, RP2350B, RP2354A, RP2354B, Rp2350};

/// An RP2350 with cores of one kind, and the world on its pins.
pub type Chip<K = armv8m::V8m> = crate::Chip<bus::Own, K>;
