//! Attribution of simulated time: each picosecond of an interval to one cause. `docs/attribution.md` describes the
//! model.
//!
//! A [`Recorder`] records changes at points that the chip and the board pass anyway; it takes no simulated time.
//! Afterwards [`Windows`] are a client's measurements, found among its clock readings, and [`attribute`] charges their
//! time.

#![warn(missing_docs, unreachable_pub)]

mod analysis;
mod cause;
pub mod lan;
mod marks;
mod overlay;
mod recorder;
mod tape;

pub use analysis::{JOIN, Shares, attribute, timeline};
pub use cause::Cause;
pub use lan::{Class, Frame};
pub use marks::{Clock, Mark, Readings, Sought, Windows};
pub use recorder::{Counters, Recorder, Recording, Transfers, state};
pub use tape::Tape;

/// An interval of time, excluding its end.
pub type Interval = (sim::Ps, sim::Ps);
