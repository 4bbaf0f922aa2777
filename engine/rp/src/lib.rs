//! The RP2040 and the RP2350 in software. Deterministic: nothing here reads the host's clock, threads or random numbers.

#![warn(missing_docs, unreachable_pub)]

pub mod rp2040;
pub mod rp2350;
