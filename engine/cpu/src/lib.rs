//! What an emulated core of any instruction set has in common with others: the memories with their predecoded
//! instructions, the map that lists them, the bus, and the frame of the interpreter. It knows no chip.

#![warn(missing_docs, unreachable_pub)]

pub mod architecture;
pub mod bench;
pub mod bus;
pub mod interpreter;
pub mod map;
pub mod memory;
mod state;

pub use architecture::{Architecture, Translations};
pub use bus::{Bus, Master};
pub use map::{Kind, Map, Region};
pub use memory::Memory;
pub use state::{Exit, Left, NO_WORD, State};
