//! The W5100S: what differs from the W5500, on the same core.

mod fuzz;
mod host;
mod memory;
mod phy;
mod registers;
mod socketless;
mod spi;
