//! ATmega2560 and ATmega1284P: an AVRe+ core with the documented cycles of all its instructions, and their peripherals.

#![warn(missing_docs, unreachable_pub)]

mod bus;
pub mod chip;
pub mod core;
mod debugger;
pub mod device;
mod fuses;
mod mcu;
pub mod memory;
mod peripherals;

pub use chip::Chip;
pub use mcu::{ATMEGA1284P_FACTS, ATMEGA2560_FACTS};
