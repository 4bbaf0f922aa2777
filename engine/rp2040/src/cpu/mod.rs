//! The Cortex-M0+ core: decoder, instructions, exceptions, and the registers on its private peripheral bus.

pub mod core;
pub mod decode;
mod exec;
pub mod fault;
pub mod ppb;
