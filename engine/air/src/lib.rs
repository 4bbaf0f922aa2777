//! An access point, and the air between it and one station, in simulated time.
//!
//! [`Air`] takes the radio chip's requests ([`sim::RadioRequest`]) and frames from the access point's cable. It returns
//! what the chip receives, and the frames for the cable. Times follow IEEE 802.11-2016 (2.4 GHz, 802.11n, one stream,
//! 20 MHz); delays of the access point and of other traffic are drawn from a distribution ([`Delay`]).

#![warn(missing_docs, unreachable_pub)]

mod access_point;
mod airtime;
mod delay;
mod luck;
mod passage;
mod todo;

mod air;

pub use access_point::AccessPoint;
pub use air::{Air, AirStats, share};
pub use delay::Delay;
pub use passage::{Passage, Place};
