//! The whole chip.

mod hostile_guest;
mod profile;
mod riscv;
mod two_cores;
