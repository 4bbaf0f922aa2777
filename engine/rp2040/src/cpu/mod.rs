//! The Cortex-M0+ core: decoder, instructions, exceptions, and the registers on its private peripheral bus.

pub mod core;
pub mod decode;
mod exec;
pub mod fault;
pub mod ppb;
#[cfg(target_arch = "x86_64")]
pub mod translated;
#[cfg(not(target_arch = "x86_64"))]
#[path = "untranslated.rs"]
pub mod translated;
