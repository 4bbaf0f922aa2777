//! The whole chip.

mod address_translation;
mod hostile_guest;
mod profile;
mod riscv;
mod two_cores;
