//! The RP2040: both Cortex-M0+ cores of [`armv6m`], and the parts of its bus that RP2350 lacks.

pub mod bus;
mod cores;
mod map;
mod mcu;
pub mod memory;
pub mod peripherals;
pub mod wires;

pub use armv6m as cpu;
pub use chip::mcu::{ChipConfig, RunEnd};
pub use chip::{Sys, World, sys, world};

pub use mcu::FACTS;

/// An RP2040 and the world on its pins.
pub type Chip = crate::Chip<bus::Own, armv6m::V6m>;
