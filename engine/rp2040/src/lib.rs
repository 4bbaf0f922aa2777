//! The RP2040 in software: both Cortex-M0+ cores, the bus and one file per peripheral, named as in the
//! RP2040 datasheet. Deterministic: nothing here reads the host's clock, threads or random numbers.

mod attributed;
mod batch;
pub mod bus;
pub mod chip;
mod chip_reset;
pub mod cpu;
mod map;
pub mod memory;
pub mod peripherals;
pub mod probe;
pub mod wires;
pub mod xip_cache;

pub use parts::{BitPeer, Inputs, PROBED, Sys, UsbPort, Way, World, pins, sys, ticks, trace, world};

/// Name as board definitions state it.
pub const NAME: &str = "RP2040";

pub use chip::{Chip, ChipConfig, RunEnd};
#[cfg(all(feature = "mistakes", target_arch = "x86_64"))]
pub use cpu::translated::Mistake;
