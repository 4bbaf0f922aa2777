//! RP2350.

mod address_translation;
mod hostile_guest;
mod packages;
mod profile;
mod riscv;
mod transfers;
mod two_cores;
