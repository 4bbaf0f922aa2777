//! The RP2040 in software: both Cortex-M0+ cores, the bus and one file per peripheral, named as in the
//! RP2040 datasheet. Deterministic: nothing here reads the host's clock, threads or random numbers.

#![deny(unsafe_code)]

mod attributed;
mod batch;
pub mod bus;
pub mod chip;
mod chip_reset;
pub mod cpu;
pub mod memory;
pub mod peripherals;
pub mod pins;
pub mod probe;
#[cfg(test)]
mod random;
pub mod sys;
pub mod ticks;
pub mod trace;
mod usb_port;
pub mod world;
pub mod xip_cache;

/// Whether probes can be attached. A build without them serves to measure their cost while they are off.
pub const PROBED: bool = !cfg!(feature = "unprobed");

pub use chip::{Chip, ChipConfig, RunEnd};
pub use sys::Sys;
pub use usb_port::UsbPort;
pub use world::{BitPeer, Inputs, Way, World};
