//! An Armv6-M core (Cortex-M0+): decoder, instructions, exceptions, the registers on its private peripheral bus, and its
//! debugger. The chip around it gives it a [`Map`](cpu::Map) of the memories and a [`Bus`](cpu::Bus).

#![warn(missing_docs, unreachable_pub)]

pub mod core;
pub mod debugger;
pub mod decode;
mod exec;
mod mpu;
pub mod ppb;
pub mod probed;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod translated;

pub use chip::fault;

/// Armv6-M.
pub struct V6m;

impl cpu::Architecture for V6m {
    type Core = core::Core;
    type Op = decode::Op;
    type Translated = jit::Translated;
}

/// The memories of a chip with such cores.
pub type Memory<M> = cpu::Memory<M, V6m>;
