//! The registers of each kind of core as gdb sees them.

pub mod arm;
pub mod riscv;
