//! RP2350.

mod address_translation;
mod hostile_guest;
mod profile;
mod riscv;
mod transfers;
mod two_cores;
