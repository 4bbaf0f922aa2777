//! A Hazard3 core as in the RP2350 (datasheet 3.8): RV32I with M, A, Zba, Zbb, Zbs, Zbkb, Zca, Zcb, Zcmp, Zicsr and
//! Zifencei, machine and user mode, physical memory protection, and the extensions Xh3bextm, Xh3irq, Xh3pmpm and
//! Xh3power. Memories and the bus are those of [`cpu`]; the chip around the core gives it a [`Map`] of the memories
//! and a [`Bus`].

#![warn(missing_docs, unreachable_pub)]

pub mod bench;
pub mod core;
mod csr;
mod decode;
mod exec;
mod interrupts;
mod pmp;
pub mod probed;
#[cfg(test)]
mod tests;
mod time;
mod traps;

pub use cpu::{Architecture, Kind, Map, Master, Region, map};

/// RV32 as Hazard3 has it.
pub struct Hazard3;

impl Architecture for Hazard3 {
    type Core = core::Core;
    type Op = decode::Op;
    type Translated = ();
}

/// The memories of a chip with such cores.
pub type Memory<M> = cpu::Memory<M, Hazard3>;

/// [`cpu::Bus`] with what only these cores ask for.
pub trait Bus: cpu::Bus<Hazard3> {
    /// Tells that the next access is one of User mode, to `address`.
    fn access_as_user(&mut self, address: u32);
}
