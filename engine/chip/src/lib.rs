//! What every microcontroller of the emulator has: time and events, interrupt and data request lines, pins, the loop that
//! runs its cores, and how the world, a board, a debugger and probes reach it.

#![warn(missing_docs, unreachable_pub)]

pub mod attributed;
pub mod debug;
pub mod fault;
pub mod mcu;
mod peripheral;
pub mod pins;
pub mod probe;
pub mod run;
pub mod sys;
pub mod ticks;
pub mod trace;
pub mod world;
pub mod xip_cache;

/// Whether probes can be attached. A build without them serves to measure their cost while they are off.
pub const PROBED: bool = !cfg!(feature = "unprobed");

pub use peripheral::{Alias, BusFault, Peripheral, Write, lane, unmodelled};
pub use sys::{Event, Layout, Sys};
pub use world::{BitPeer, Inputs, Way, World};
