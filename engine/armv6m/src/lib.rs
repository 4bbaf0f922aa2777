//! An Armv6-M core (Cortex-M0+): decoder, instructions, exceptions, the registers on its private peripheral bus, its
//! memories and its debugger. The chip around it gives it a [`Map`] of the memories and a [`Bus`].

#![warn(missing_docs, unreachable_pub)]

pub mod architecture;
pub mod bench;
pub mod bus;
pub mod core;
pub mod debugger;
pub mod decode;
mod exec;
pub mod interpreter;
pub mod map;
pub mod memory;
mod mpu;
pub mod ppb;
mod probed;
pub mod systick;
#[cfg(target_arch = "x86_64")]
mod translated;
#[cfg(target_arch = "x86_64")]
pub mod translator;
#[cfg(not(target_arch = "x86_64"))]
#[path = "untranslated.rs"]
pub mod translator;

pub use architecture::{Architecture, Translations, V6m};
pub use bus::{Bus, Master};
pub use map::{Kind, Map, Region};
pub use memory::Memory;
pub use parts::fault;
pub use probed::{Lent, seen};
#[cfg(all(feature = "mistakes", target_arch = "x86_64"))]
pub use translator::mistakes::Mistake;
pub use translator::run_ahead;
