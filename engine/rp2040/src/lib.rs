//! The RP2040 in software: both Cortex-M0+ cores of [`armv6m`], the bus and one file per peripheral, named as in the
//! RP2040 datasheet. Deterministic: nothing here reads the host's clock, threads or random numbers.

#![warn(missing_docs, unreachable_pub)]

mod attributed;
#[cfg(test)]
mod batch_tests;
pub mod bus;
pub mod chip;
mod chip_reset;
mod map;
mod mcu;
pub mod memory;
pub mod peripherals;
pub mod wires;

pub use armv6m as cpu;
pub use parts::{Sys, World, probe, sys, world};
pub(crate) use parts::{ticks, trace, xip_cache};

pub use chip::Chip;
pub use mcu::FACTS;
pub use parts::mcu::{ChipConfig, RunEnd};
