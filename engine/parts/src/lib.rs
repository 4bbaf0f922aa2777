//! The peripherals that several microcontrollers share, one file each, with what they need of a chip: time and events,
//! interrupt and DREQ lines, clocks, pins and the world outside.

#![warn(missing_docs, unreachable_pub)]

pub mod adc;
pub mod attributed;
pub mod batch;
pub mod clocks;
pub mod constants;
pub mod debug;
pub mod dma;
pub mod fault;
pub mod i2c;
pub mod interpolator;
pub mod io_bank0;
pub mod io_qspi;
pub mod mcu;
pub mod pads_bank0;
pub mod pads_qspi;
pub mod passing;
pub mod peripheral;
pub mod pins;
pub mod pio;
pub mod pll;
pub mod probe;
pub mod psm;
pub mod pwm;
pub mod random;
pub mod resets;
pub mod rosc;
pub mod run;
pub mod spi;
pub mod sys;
#[cfg(test)]
mod testing;
pub mod ticks;
pub mod timer;
pub mod trace;
pub mod uart;
pub mod usb;
mod usb_port;
pub mod watchdog;
pub mod wires;
pub mod world;
pub mod xip_cache;
pub mod xip_stream;
pub mod xosc;

/// Whether probes can be attached. A build without them serves to measure their cost while they are off.
pub const PROBED: bool = !cfg!(feature = "unprobed");

pub use peripheral::{Alias, BusFault, Peripheral, Write, lane, unmodelled};
pub use sys::Sys;
pub use world::{BitPeer, Inputs, Way, World};
