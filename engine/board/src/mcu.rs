//! The board's microcontroller. No other file of this crate and of the binding names one.

pub use rp2040::bus::Master;
pub use rp2040::cpu::core::{Core, State};
pub use rp2040::cpu::debugger;
pub use rp2040::cpu::memory::Contents;
pub use rp2040::memory::{RAM_BASE, RAM_SIZE, ROM_SIZE, XIP_BASE};
pub use rp2040::probe::{debug::Halt, profile};
pub use rp2040::{Chip, ChipConfig, NAME, RunEnd};
