//! The RP2040 and the RP2350 in software: the bus, the resets and the frame around the cores that both have, and a module
//! for each chip, with one file per peripheral of its datasheet. Deterministic: nothing here reads the host's clock,
//! threads or random numbers.

#![warn(missing_docs, unreachable_pub)]

mod attributed;
#[cfg(test)]
mod batch_tests;
mod blocks;
mod bus;
mod chip;
mod chip_reset;
mod cores;
mod map;
mod mcu;
pub mod rp2040;
pub mod rp2350;
mod sio;

pub use chip::Chip;
