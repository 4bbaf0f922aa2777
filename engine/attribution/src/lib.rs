//! Where simulated time goes: each picosecond of a span to one cause. `docs/attribution.md` has the model.
//!
//! A [`Recorder`] hangs where the chip and the board pass by anyway and keeps what changed; it moves no simulated time.
//! Afterwards [`marks`] finds a client's own measurements among its clock readings, and [`analysis`] shares the time out.

pub mod analysis;
pub mod cause;
pub mod lan;
pub mod marks;
pub mod overlay;
pub mod recorder;

pub use analysis::{JOIN, Shares, attribute, timeline};
pub use cause::Cause;
pub use lan::{Class, Flow, Frame};
pub use marks::{Clock, Mark, Sought, Windows, find, find_ready};
pub use recorder::{Counters, Recorder, Recording, Transfer, state};

/// From one moment to another, the second excluded.
pub type Interval = (sim::Ps, sim::Ps);
