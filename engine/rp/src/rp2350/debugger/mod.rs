//! The registers of each kind of core as gdb sees them.

pub(crate) mod arm;
pub(crate) mod riscv;
