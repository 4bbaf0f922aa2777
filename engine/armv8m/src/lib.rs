//! An Armv8-M Mainline core (Cortex-M33): decoder, instructions with DSP and single-precision floating point,
//! exceptions, security, and the registers on its private peripheral bus. Memories, the bus and SysTick are those of
//! [`cpu`]; the chip around the core gives it a [`Map`] of the memories and a [`Bus`].

#![warn(missing_docs, unreachable_pub)]

pub mod bench;
pub mod bus;
pub mod core;
mod decode;
mod dsp;
mod exception;
mod exec;
mod float;
mod fpu;
#[cfg(test)]
mod fuzz;
mod mpu;
mod ppb;
pub mod probed;
mod rare;
mod sau;
#[cfg(test)]
mod tests;
mod time;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod translated;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")))]
#[path = "untranslated.rs"]
mod translated;

pub use bus::{Attribution, Bus, Refused, Transfer};
pub use chip::fault;
pub use cpu::{Architecture, Kind, Map, Master, Region, map};
pub use jit::run_ahead;

/// Armv8-M Mainline.
pub struct V8m;

impl Architecture for V8m {
    type Core = core::Core;
    type Op = decode::Op;
    type Translated = jit::Translated;
}

/// The memories of a chip with such cores.
pub type Memory<M> = cpu::Memory<M, V8m>;
