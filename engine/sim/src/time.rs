//! Simulated time.

/// Picoseconds of simulated time since the power cycle (wraps after 213 days).
pub type Ps = u64;

/// Picoseconds of a nanosecond.
pub const PS_PER_NS: Ps = 1_000;
/// Picoseconds of a microsecond.
pub const PS_PER_US: Ps = 1_000 * PS_PER_NS;
/// Picoseconds of a millisecond.
pub const PS_PER_MS: Ps = 1_000 * PS_PER_US;
/// Picoseconds of a second.
pub const PS_PER_S: Ps = 1_000 * PS_PER_MS;

/// The time of an event that is not planned.
pub const NEVER: Ps = Ps::MAX;

/// Returns a time in microseconds.
pub fn us(at: Ps) -> f64 {
    at as f64 / PS_PER_US as f64
}

/// Returns the time of so many microseconds.
pub fn ps(us: f64) -> Ps {
    (us * PS_PER_US as f64) as Ps
}
