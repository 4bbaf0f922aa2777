//! Simulated time.

/// Picoseconds of simulated time since the power cycle (wraps after 213 days).
pub type Ps = u64;

pub const PS_PER_NS: Ps = 1_000;
pub const PS_PER_US: Ps = 1_000 * PS_PER_NS;
pub const PS_PER_MS: Ps = 1_000 * PS_PER_US;
pub const PS_PER_S: Ps = 1_000 * PS_PER_MS;

/// The time of an event that is not planned.
pub const NEVER: Ps = Ps::MAX;
