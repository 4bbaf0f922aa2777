//! The Cortex-M0+ core: decoder, instructions, exceptions, and the registers on its private peripheral bus.

pub mod core;
pub mod debugger;
pub mod decode;
mod exec;
pub mod ppb;
#[cfg(target_arch = "x86_64")]
pub(crate) mod translated;
#[cfg(not(target_arch = "x86_64"))]
#[path = "untranslated.rs"]
pub(crate) mod translated;

pub use parts::fault;
