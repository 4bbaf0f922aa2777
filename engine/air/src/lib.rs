//! An access point and the air between it and one station, on the simulated clock.
//!
//! [`Air`] takes what a radio chip does ([`sim::RadioRequest`]) and frames from the access point's cable, and gives back what
//! the chip receives and what goes out by the cable. Times follow IEEE 802.11-2016 (2.4 GHz, 802.11n, one stream, 20 MHz);
//! what an access point and other people's traffic add is drawn from a distribution ([`Delay`]).

mod access_point;
mod airtime;
mod delay;
mod luck;
mod passage;
mod random;
mod todo;

mod air;

pub use access_point::{AccessPoint, AirError};
pub use air::{Air, AirStats, share};
pub use airtime::{data_time, mbit_per_s};
pub use delay::Delay;
pub use passage::{Passage, Place};
