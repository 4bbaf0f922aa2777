//! The W5100S's differences from the W5500.

mod fuzz;
mod host;
mod memory;
mod phy;
mod registers;
mod socketless;
mod spi;
